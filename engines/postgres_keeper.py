"""Runs a PostgreSQL server as long as somebody uses it: the program of a process of its own.

Every user of the server holds a shared lock on the file `users`, which the operating system gives
back however the user's process ends. The keeper waits until it can have that lock for itself, and
stops the server then. The lock on the file `state` is held by whoever starts or stops the server.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

__all__ = ["keep", "locked"]

_STOP_TIMEOUT_S: Final = 20.0


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock on a file for ourselves, waiting for it.

    Args:
        path: The file; made where it does not exist.
    """
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def keep(room: Path, socket_directory: Path, command: list[str], user: int | None) -> None:
    """Run a server until nobody uses it.

    Args:
        room: The directory of the lock files.
        socket_directory: Where the server listens; removed when it has ended.
        command: What starts the server, in the foreground.
        user: The operating system's user that it runs as; None for our own.
    """
    who = {} if user is None else {"user": user, "group": user, "extra_groups": []}
    server = subprocess.Popen(command, **who)  # type: ignore[call-overload] # noqa: S603
    # Reaps the server if it ends by itself, so that another may take its place.
    threading.Thread(target=server.wait, daemon=True).start()
    try:
        while True:
            with locked(room / "users"):
                pass
            with locked(room / "state"), (room / "users").open("a") as users:
                try:
                    fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue  # Somebody came in between.
                _stop(server)
                return
    finally:
        _stop(server)
        shutil.rmtree(socket_directory, ignore_errors=True)


def _stop(server: subprocess.Popen[bytes]) -> None:
    if server.poll() is not None:
        return
    for how in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
        server.send_signal(how)
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(_STOP_TIMEOUT_S)
            return


if __name__ == "__main__":
    _room, _socket_directory, _user, *_command = sys.argv[1:]
    # The system's shutdown, say: the server goes where its keeper goes.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    keep(Path(_room), Path(_socket_directory), _command, json.loads(_user))
