"""A standalone Spark cluster on this machine, which outlives the command that starts it."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from bothends.engines import spark_cluster_keeper as keeper
from bothends.engines.java import find_java
from bothends.engines.spark_cluster_keeper import ClusterState
from bothends.infra.errors import EngineError, MissingExtraError

__all__ = ["cluster_directory", "cluster_state", "start_cluster", "stop_cluster"]

_POLL_S: Final = 0.1
_STOP_TIMEOUT_S: Final = 30.0
_LOG_TAIL_CHARACTERS: Final = 1_500


def cluster_directory() -> Path:
    """Return where a cluster's state and logs are: below XDG_STATE_HOME, or ~/.local/state."""
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home).absolute() / "bothends" / "cluster"


def cluster_state(directory: Path) -> ClusterState | None:
    """Return what is known of the cluster that runs, or None where none does.

    Args:
        directory: Where its state is.
    """
    state = None
    # A keeper that has just begun has yet to write it.
    while state is None and directory.is_dir() and _held(directory):
        state = ClusterState.read(directory)
        time.sleep(0 if state else _POLL_S)
    return state


def start_cluster(
    directory: Path,
    *,
    workers: int,
    cores: int,
    memory_mb: int,
    phase: Callable[[str], object] = lambda _: None,
) -> tuple[ClusterState, bool]:
    """Start a cluster, and wait until it takes queries; or find that one runs.

    Args:
        directory: Where its state and logs are; made where it does not exist.
        workers: How many workers.
        cores: Cores that one application gets on each.
        memory_mb: Memory that one application gets on each.
        phase: Who is told what is being waited for.

    Returns:
        The cluster, and whether it was started now.

    Raises:
        MissingExtraError: If pyspark is not installed.
        EngineError: If there is no Java, or the cluster cannot be started; nothing is left
            running then, and the message ends with the last lines of the log.
    """
    if importlib.util.find_spec("pyspark") is None:
        raise MissingExtraError("pyspark with its Connect client", "spark")
    find_java()
    log = directory / "keeper.log"
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        if _held(directory):
            process = None
        else:
            (directory / "state.json").unlink(missing_ok=True)
            with log.open("wb") as output:
                process = subprocess.Popen(  # noqa: S603
                    [
                        *(sys.executable, "-P", "-m", keeper.__name__),
                        *(str(directory), str(workers), str(cores), str(memory_mb)),
                    ],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    cwd=directory,
                    start_new_session=True,
                )
    except OSError as error:
        raise EngineError(
            f"cannot run a cluster with its state in {directory}: {error}. Check that the "
            "directory is writable, or set XDG_STATE_HOME to one that is"
        ) from error
    try:
        return _wait(directory, process, phase), process is not None
    except BaseException:
        # Stopped by Ctrl+C as well: a cluster that nobody was told of is not left behind.
        if process is not None:
            process.terminate()
            process.wait()
        raise


def stop_cluster(directory: Path) -> ClusterState | None:
    """Stop the cluster, and wait until it is gone.

    Args:
        directory: Where its state is.

    Returns:
        What was stopped, or None where none ran.

    Raises:
        EngineError: If it does not end.
    """
    state = cluster_state(directory)
    if state is None:
        return None
    pid = state.pids["keeper"]
    with contextlib.suppress(ProcessLookupError):
        # Whoever holds the lock wrote this number, and holds it still.
        os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + _STOP_TIMEOUT_S
    while _held(directory):
        if time.monotonic() > deadline:
            raise EngineError(f"the cluster does not end; end process {pid} yourself")
        time.sleep(_POLL_S)
    return state


def _wait(
    directory: Path,
    process: subprocess.Popen[bytes] | None,
    phase: Callable[[str], object],
) -> ClusterState:
    while True:
        state = ClusterState.read(directory)
        if state is not None and not state.phase:
            return state
        if state is not None:
            phase(state.phase)
        if process is not None and process.poll() is not None:
            said = (directory / "keeper.log").read_text(errors="replace").strip()
            raise EngineError(
                f"the cluster did not start: {said[-_LOG_TAIL_CHARACTERS:] or 'no reason given'}\n"
                f"All logs are in {directory}"
            )
        if process is None and not _held(directory):
            raise EngineError("the cluster that was being started did not start; try again")
        time.sleep(_POLL_S)


def _held(directory: Path) -> bool:
    lock = keeper.take_lock(directory)
    if lock is None:
        return True
    lock.close()
    return False
