"""`bothends view`: the report as its run is now, for this machine and nobody else."""

from __future__ import annotations

import http.client
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from bothends.eval.runner import run_experiment
from bothends.infra.errors import RecordError, UsageError
from bothends.view import Viewer

from ..eval.tiny import tiny_experiment  # noqa: TID252


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return run_experiment(tiny_experiment(tmp_path), tmp_path / "run").path


@pytest.fixture
def viewer(run: Path) -> Iterator[Viewer]:
    viewer = Viewer([run])
    serving = threading.Thread(target=viewer.serve)
    serving.start()
    yield viewer
    viewer.close()
    serving.join()


def get(viewer: Viewer, path: str, host: str | None = None) -> tuple[int, str]:
    place = viewer.address.removeprefix("http://").rstrip("/")
    connection = http.client.HTTPConnection(place, timeout=20)
    connection.request("GET", path, headers={"Host": host or place})
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def hold_back_last_trial(run: Path) -> str:
    *first, last = (run / "trials.jsonl").read_text().splitlines(keepends=True)
    (run / "trials.jsonl").write_text("".join(first))
    return last


def test_the_page_follows_the_run(viewer: Viewer, run: Path) -> None:
    last = hold_back_last_trial(run)
    status, page = get(viewer, "/")
    assert status == 200
    assert "The run is not finished: 1 of 2 trials are in." in page
    _, version = get(viewer, "/version")
    assert f'data-version="{version}"' in page
    assert get(viewer, "/version")[1] == version
    with (run / "trials.jsonl").open("a") as stream:
        stream.write(last)
    assert get(viewer, "/version")[1] != version
    assert "The run is not finished" not in get(viewer, "/")[1]


def test_other_names_and_places_get_nothing(viewer: Viewer) -> None:
    assert viewer.address.startswith("http://127.0.0.1:")
    assert get(viewer, "/", host="evil.example")[0] == 403
    assert get(viewer, "/trials.jsonl")[0] == 404
    assert get(viewer, "/../manifest.json")[0] == 404


def test_a_page_that_is_served_may_ask_its_server_and_a_file_nobody(
    viewer: Viewer, run: Path
) -> None:
    from bothends.api import load_run

    assert "connect-src 'self'" in get(viewer, "/")[1]
    written = load_run(run).report.read_text()
    assert "connect-src" not in written
    assert "fetch(" not in written


def test_mistakes_are_sentences(tmp_path: Path, viewer: Viewer, run: Path) -> None:
    with pytest.raises(RecordError, match="not a run directory"):
        Viewer([tmp_path / "nowhere"])
    port = int(viewer.address.rstrip("/").rpartition(":")[2])
    with pytest.raises(UsageError, match=f"port {port} cannot be used"):
        Viewer([run], port)


def test_the_browser_shows_what_has_come_in(viewer: Viewer, run: Path) -> None:
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no Chromium on the PATH: apt-get install chromium")
    last = hold_back_last_trial(run)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu", "--disable-quic"]
        )
        page = browser.new_page()
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(viewer.address)
        page.wait_for_selector("html[data-ready]")
        assert page.locator("#shown").inner_text() == "1 of 1 trial"
        with (run / "trials.jsonl").open("a") as stream:
            stream.write(last)
        page.get_by_text("2 of 2 trials").wait_for(timeout=20_000)
        assert complaints == []
        browser.close()
