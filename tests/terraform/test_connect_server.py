"""The script that keeps the Spark Connect server on the primary node, with a stand-in for Spark."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import ROOT

SCRIPT = ROOT / "terraform" / "modules" / "emr" / "files" / "connect_server.sh"

START = """#!/bin/sh
printf '%s\\n' "$@" >{home}/arguments
{python} -c '
import socket, time
server = socket.create_server(("127.0.0.1", {port}))
time.sleep(60)
' >/dev/null 2>&1 &
echo $! >{home}/pid
"""

STOP = """#!/bin/sh
kill $(cat {home}/pid) && touch {home}/stopped
"""


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@pytest.fixture
def spark(tmp_path: Path, port: int) -> Iterator[Path]:
    """A SPARK_HOME whose server listens and does nothing."""
    (tmp_path / "sbin").mkdir()
    for name, text in (("start", START), ("stop", STOP)):
        path = tmp_path / "sbin" / f"{name}-connect-server.sh"
        path.write_text(text.format(home=tmp_path, python=sys.executable, port=port))
        path.chmod(0o755)
    yield tmp_path
    if not (tmp_path / "stopped").exists() and (tmp_path / "pid").exists():
        os.kill(int((tmp_path / "pid").read_text()), 9)


def start(spark: Path, *arguments: object) -> list[str]:
    subprocess.run(
        ["bash", str(SCRIPT), *map(str, arguments)],
        env=os.environ | {"SPARK_HOME": str(spark), "LOOK_S": "0.1"},
        check=True,
        capture_output=True,
        timeout=60,
    )
    return (spark / "arguments").read_text().splitlines()


@pytest.mark.skipif(shutil.which("ss") is None, reason="ss is not here, which EMR's nodes have")
def test_it_stays_while_it_is_used_and_goes_when_it_is_not(spark: Path, port: int) -> None:
    arguments = start(spark, port, 1)
    assert arguments[:2] == ["--master", "yarn"]
    assert "spark.connect.grpc.binding.address=127.0.0.1" in arguments
    with socket.create_connection(("127.0.0.1", port)):
        time.sleep(2.5)  # longer than it stays without a client
        assert not (spark / "stopped").exists()
    deadline = time.monotonic() + 30
    while not (spark / "stopped").exists():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.skipif(shutil.which("ss") is None, reason="ss is not here, which EMR's nodes have")
@pytest.mark.parametrize(
    ("jar", "option"), [("s3://bucket/connect.jar", "--jars"), ("a.b:c_2.12:3.5.6", "--packages")]
)
def test_a_jar_for_older_releases(spark: Path, port: int, jar: str, option: str) -> None:
    assert start(spark, port, 1, jar)[-2:] == [option, jar]
