"""What tests of every folder share: data that is made once, one Spark cluster, and BIRD."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest

from bothends.cli import main
from bothends.engines.spark_cluster import cluster_state
from bothends.engines.spark_cluster_keeper import ClusterState
from bothends.infra import tpch
from bothends.infra.dataset import Dataset

from .aws_server import AwsServer, aws_server


def pytest_itemcollected(item: pytest.Item) -> None:
    """Say which tests stay together where several processes share them.

    Spark takes seconds to start and all cores: the tests that need it stay in one process, with
    one cluster, beside which the others run, each with its file.
    """
    if item.get_closest_marker("xdist_group") is None:
        named = f"{item.nodeid} {' '.join(getattr(item, 'fixturenames', ()))}".lower()
        starts_spark = item.get_closest_marker("slow") and re.search("spark|cluster|java", named)
        item.add_marker(pytest.mark.xdist_group("spark" if starts_spark else str(item.path)))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with those of Spark, so that no process is left with them alone at the end."""

    def others(item: pytest.Item) -> bool:
        group = item.get_closest_marker("xdist_group")
        return group is None or group.args != ("spark",)

    items.sort(key=others)


@pytest.fixture(scope="session")
def bird() -> Path:
    """BIRD's directory: that of the dev.json that $BOTHENDS_BIRD_DEV names, or one beside ours."""
    named = os.environ.get("BOTHENDS_BIRD_DEV")
    path = Path(named) if named else Path(__file__).parents[2] / "shared" / "bird" / "dev.json"
    if not path.exists():
        pytest.skip("BIRD is not here: BOTHENDS_BIRD_DEV does not name its dev.json")
    return path if path.is_dir() else path.parent


@pytest.fixture(scope="session")
def tpch_dataset(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Dataset:
    """TPC-H at scale factor 0.01, in $BOTHENDS_TEST_DATA or else in pytest's own cache."""
    if "BOTHENDS_TEST_DATA" in os.environ:
        root = Path(os.environ["BOTHENDS_TEST_DATA"])
    elif hasattr(request.config, "cache"):
        root = request.config.cache.mkdir("bothends")
    else:  # pytest was told to keep no cache
        root = tmp_path_factory.mktemp("data")
    return tpch.tpch_dataset(0.01, root)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A killed process stays a zombie where nobody waits for it.
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rsplit(")", 1)[1].split()[0] != "Z"


@pytest.fixture(scope="session")
def runs() -> Callable[[int], bool]:
    """Tell whether a process runs."""
    return is_running


@pytest.fixture(scope="session")
def main_in_here() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the command line in this process, which has imported everything, with what it printed.

    Args of what is returned: the command's arguments, and `cwd` and `env`, its whole environment.
    """

    def run(*arguments: str, cwd: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        out, err = io.StringIO(), io.StringIO()
        code: object = 0
        with (
            contextlib.chdir(cwd),
            mock.patch.dict(os.environ, env, clear=True),
            mock.patch.object(sys, "argv", ["bothends", *arguments]),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            try:
                main()
            except SystemExit as ended:
                code = ended.code or 0
        assert isinstance(code, int)
        return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())

    return run


@pytest.fixture(scope="session")
def served_aws() -> Iterator[AwsServer]:
    """An AWS on the loopback, for all tests of this process."""
    with aws_server() as server:
        yield server


@pytest.fixture
def aws(served_aws: AwsServer, monkeypatch: pytest.MonkeyPatch) -> AwsServer:
    """The same, empty, with the environment that leads there and nowhere else."""
    served_aws.forget()
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in served_aws.variables.items():
        monkeypatch.setenv(name, value)
    return served_aws


Command = Callable[..., subprocess.CompletedProcess[str]]


@dataclass(frozen=True)
class Cluster:
    """The cluster of this test run, as a user has it: by the command line."""

    home: Path
    started: subprocess.CompletedProcess[str]

    @property
    def state(self) -> ClusterState:
        state = cluster_state(self.home / "bothends" / "cluster")
        assert state is not None
        return state


@pytest.fixture(scope="session")
def cluster_command() -> Command:
    """Run `bothends cluster local` with a directory for its state."""

    def command(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "bothends", "cluster", "local", *arguments],
            env={**os.environ, "XDG_STATE_HOME": str(home), "COLUMNS": "120", "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    return command


@pytest.fixture(scope="session")
def cluster(
    tmp_path_factory: pytest.TempPathFactory, cluster_command: Command
) -> Iterator[Cluster]:
    """A standalone cluster of two workers with a Spark Connect server, one for all tests."""
    home = tmp_path_factory.mktemp("state")
    started = cluster_command(home, "up", "--workers", "2", "--cores", "1")
    assert started.returncode == 0, started.stderr
    made = Cluster(home, started)
    yield made
    pids = made.state.pids
    down = cluster_command(home, "down")
    assert down.returncode == 0, down.stderr
    assert set(pids) == {"keeper", "master", "worker-1", "worker-2", "connect"}
    for name, pid in pids.items():
        assert f"{name} ({pid})" in down.stdout
        assert not is_running(pid), name
