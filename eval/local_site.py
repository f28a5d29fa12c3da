"""Jobs in a directory of this machine, submitted to a master that it reaches."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from bothends.engines.java import find_java
from bothends.engines.spark_process import SparkProcess
from bothends.eval.suites.registry import load_suite
from bothends.infra.errors import RecordError
from bothends.infra.job_state import JobData, JobState

__all__ = ["LocalRun", "LocalSite"]

_MAIN: Final = "org.apache.spark.deploy.SparkSubmit"
_LOOPBACK: Final[Mapping[str, str]] = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


class LocalRun:
    """A job that runs as a child of this process, and ends with it.

    Args:
        process: The driver.
    """

    def __init__(self, process: SparkProcess) -> None:
        self.process = process
        self._state = JobState("running")

    def state(self) -> JobState:
        """Return how far it is."""
        if not self._state.ended and not self.process.alive:
            code, log = self.process.code, self.process.log_tail
            self._state = JobState("failed", _reason(code, log)) if code else JobState("done")
            self.process.close()
        return self._state

    def cancel(self) -> None:
        """End it."""
        if not self._state.ended:
            self._state = JobState("failed", "cancelled")
            self.process.close()


def _reason(code: int | None, log: str) -> str:
    """Return why a driver failed: what the script said last, or else all that is known."""
    last = log.splitlines()[-1]
    if last.startswith("bothends: "):
        return last.removeprefix("bothends: ")
    how = f"by signal {-code}" if code is not None and code < 0 else f"with code {code}"
    return f"its driver ended {how}, and the last line of its log is: {last}"


class LocalSite:
    """A directory of this machine, and the pip-installed Spark with a master.

    All machines of the master's cluster must find directory and data at the same path.

    Args:
        directory: Where jobs and their records are.
        master: Spark's own name of what runs the queries, such as `spark://127.0.0.1:7077`.
        data: The directory that holds the data; missing data is generated where it can be.
        conf: Spark's settings, beside those that a job needs.
        java: Options for the driver's Java.
        python: The interpreter that runs the script.
    """

    platform = None
    poll_s = 0.5

    def __init__(
        self,
        directory: Path,
        master: str,
        data: Path,
        *,
        conf: Mapping[str, str] | None = None,
        java: Sequence[str] = ("-Xmx1g",),
        python: str = sys.executable,
    ) -> None:
        self.title = f"Spark at {master}"
        self._directory, self._master, self._data = directory.absolute(), master, data
        self._conf, self._java, self._python = dict(conf or {}), tuple(java), python

    def put(self, name: str, content: bytes) -> str:
        """Write a file."""
        path = self._directory / name
        partial = path.with_name(f".{path.name}.partial")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            partial.write_bytes(content)
            partial.replace(path)
        except OSError as error:
            raise RecordError(f"{path} cannot be written: {error.strerror}") from error
        return self.uri(name)

    def get(self, name: str) -> bytes | None:
        """Return a file; None where there is none."""
        try:
            return (self._directory / name).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise RecordError(f"{self._directory / name} cannot be read: {error}") from error

    def names(self, prefix: str) -> tuple[str, ...]:
        """Return the names of the files that begin with a prefix; hidden ones are not whole."""
        folder = self._directory / prefix.rpartition("/")[0]
        with contextlib.suppress(FileNotFoundError):
            paths = [path for path in folder.rglob("*") if path.is_file()]
            names = (p.relative_to(self._directory).as_posix() for p in paths if p.name[0] != ".")
            return tuple(sorted(name for name in names if name.startswith(prefix)))
        return ()

    def uri(self, name: str) -> str:
        """Return a file's URI."""
        return (self._directory / name).as_uri()

    def data(self, suite: str, scale_factor: float) -> JobData:
        """Return a suite's data, generated where it is missing."""
        dataset = load_suite(suite, self._data, "spark").dataset(scale_factor, self._data)
        tables = {name: path.as_uri() for name, path in dataset.tables.items()}
        return JobData(tables, f"{dataset.name} {dataset.digest}".strip())

    def start(self, script: str, arguments: Sequence[str], conf: Mapping[str, str]) -> LocalRun:
        """Submit a script; its driver is a child of this process."""
        own = {
            "spark.local.dir": "{work}/local",
            "spark.sql.warehouse.dir": "{work}/warehouse",
            "spark.ui.showConsoleProgress": "false",
            **_LOOPBACK,
        }
        settings = {**own, **conf, **self._conf}
        process = SparkProcess(
            find_java(),
            _MAIN,
            *("--master", self._master),
            *(part for key, value in settings.items() for part in ("--conf", f"{key}={value}")),
            *(script, *arguments),
            options=self._java,
            env={"PYSPARK_PYTHON": self._python, "SPARK_LOCAL_IP": "127.0.0.1"},
        )
        return LocalRun(process)

    def describe(self) -> None:
        """Tell nothing: what a machine of one's own costs is for `--machine` to say."""
