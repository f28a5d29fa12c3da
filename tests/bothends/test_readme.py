"""The README's Python example runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bothends.infra.dataset import Dataset

README = Path(__file__).parents[2] / "README.md"


def test_the_python_example_runs(
    tpch_dataset: Dataset,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").symlink_to(tpch_dataset.directory.parent.parent)
    (example,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})  # noqa: S102 - our own README
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("ok SELECT")
    assert next(line for line in printed if line.startswith("exact ")).startswith("exact 1.0 ")
    assert list((tmp_path / "runs").glob("tpch-sqlite-sf0.01-*/report.html"))
