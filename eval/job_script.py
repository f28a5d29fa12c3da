"""The step of a sweep's job on a cluster: `spark-submit job_script.py --job URI --out URI ...`.

It needs nothing on the cluster but Spark and Python: what it imports beside these comes from the
bundle that `--code` names. It is read by Python 3.9 too, if only to say that this is too old.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any, NoReturn

__all__ = ["main"]

_LEAST = (3, 11)
_TERMINATED = 128 + signal.SIGTERM


def main() -> NoReturn:
    """Run a job, and exit: with 0 where all of it is done, and a last line on stderr elsewhere."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--job", required=True, help="URI of the job.")
    given.add_argument("--out", required=True, help="URI of the directory for its records.")
    given.add_argument("--code", required=True, help="URI of the bundle.")
    arguments = given.parse_args()
    if sys.version_info < _LEAST:
        _end(
            "this step runs Python {}.{}, and the job needs {}.{} or later: set "
            "spark.pyspark.python to one".format(*sys.version_info[:2], *_LEAST)
        )
    # A step that is cancelled is not to finish its query first.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(_TERMINATED))
    from pyspark.sql import SparkSession

    # What goes to the log of a driver and is not ours hides what is.
    session = SparkSession.builder.appName("bothends").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    said = _done(session, arguments)
    if said is not None:
        _end(said)
    session.stop()
    sys.exit(0)


def _done(session: Any, arguments: argparse.Namespace) -> str | None:
    """Do the job; return what went wrong."""
    with tempfile.TemporaryDirectory(prefix="bothends-") as scratch:
        try:
            _unpack(session, arguments.code, Path(scratch))
        except Exception as error:
            first = str(error).strip().splitlines()[:2]
            return f"the code cannot be had from {arguments.code}: {' '.join(first)}"
        sys.path.insert(0, scratch)
        from bothends.eval.job_work import attempt

        return attempt(session, arguments.job, arguments.out)


def _unpack(session: Any, uri: str, into: Path) -> None:
    """Put what a bundle holds into a directory."""
    path = session.sparkContext._jvm.org.apache.hadoop.fs.Path
    source, archive = path(uri), into / "code.zip"
    store = source.getFileSystem(session.sparkContext._jsc.hadoopConfiguration())
    store.copyToLocalFile(False, source, path(archive.as_uri()), True)
    with zipfile.ZipFile(archive) as code:
        code.extractall(into)
    archive.unlink()


def _end(said: str) -> NoReturn:
    """Say what is wrong, on the last line, and exit, whatever thread still waits for Spark."""
    line = " ".join(said.split())
    print(f"bothends: {line}", file=sys.stderr, flush=True)  # noqa: T201
    os._exit(1)


if __name__ == "__main__":
    main()
