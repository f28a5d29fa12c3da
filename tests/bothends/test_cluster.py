"""`bothends cluster local`, as a user types it, on the cluster of this test run.

That `down` stops all of it is asserted where the run ends: in the fixture `cluster`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from bothends.engines import open_engine
from bothends.engines.spark_cluster import cluster_state


@pytest.mark.slow
def test_up_prints_addresses_and_what_to_type(cluster: Any) -> None:
    shown = cluster.started.stdout
    state = cluster.state
    for said in ("The cluster is up.", state.master, state.connect, "cluster local down"):
        assert said in shown
    assert f"--engine {state.connect}" in shown
    assert "waiting for" not in shown


@pytest.mark.slow
def test_up_again_and_status_tell_the_same_cluster(cluster: Any, cluster_command: Any) -> None:
    before = cluster.state
    again = cluster_command(cluster.home, "up")
    assert again.returncode == 0
    assert "up already" in again.stdout
    assert "not as asked for" not in again.stderr
    other = cluster_command(cluster.home, "up", "--workers", "3")
    assert other.returncode == 0
    assert "It is not as asked for" in other.stderr
    status = cluster_command(cluster.home, "status")
    for said in (before.master, before.connect, *map(str, cluster.state.pids.values())):
        assert said in status.stdout
        assert said in again.stdout
    assert "workers  2" in status.stdout
    with open_engine(before.connect) as engine:
        assert engine.execute("SELECT 1").rows == ((1,),)


@pytest.mark.slow
def test_a_start_that_is_told_to_end_leaves_nothing(
    tmp_path: Path, cluster_command: Any, runs: Any
) -> None:
    starting = subprocess.Popen(
        [sys.executable, "-m", "bothends", "cluster", "local", "up"],
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    state = None
    while state is None:
        assert starting.poll() is None
        state = cluster_state(tmp_path / "bothends" / "cluster")
        time.sleep(0.05)
    starting.terminate()
    assert starting.wait(60) == 128 + signal.SIGTERM
    assert "No cluster is up." in cluster_command(tmp_path, "status").stdout
    assert not any(runs(pid) for pid in state.pids.values())


def test_nothing_is_up(tmp_path: Path, cluster_command: Any) -> None:
    for command in ("status", "down"):
        shown = cluster_command(tmp_path, command)
        assert shown.returncode == 0
        assert "No cluster is up." in shown.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_failed_start_says_why_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster_command: Any
) -> None:
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        '#!/bin/sh\n[ "$1" = -version ] && { echo \'version "17.0.1"\'; exit; }\n'
        "echo out of luck >&2\nexit 3\n"
    )
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java"))
    shown = cluster_command(tmp_path, "up")
    assert shown.returncode == 1
    assert "master ended while it started" in shown.stderr
    assert "out of luck" in shown.stderr
    assert "Traceback" not in shown.stderr
    assert "No cluster is up." in cluster_command(tmp_path, "status").stdout


def test_a_mistake_is_one_sentence(tmp_path: Path, cluster_command: Any) -> None:
    shown = cluster_command(tmp_path, "up", "--memory", "100m")
    assert shown.returncode == 2
    assert "at least 1g" in shown.stderr
