"""Small files wherever Spark can read and write: on S3, HDFS or a disk, by Hadoop's own client."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from bothends.infra.errors import DataError

__all__ = ["HadoopFiles"]

# Of these nobody sees an object before it is whole.
_OBJECT_STORES: Final = frozenset({"s3", "s3a", "s3n", "gs", "abfs", "abfss"})


class HadoopFiles:
    """Files by their URIs, through the JVM of a driver; nothing but Spark is needed.

    Args:
        session: A classic `SparkSession`.
    """

    def __init__(self, session: Any) -> None:
        context = session.sparkContext
        self._path = context._jvm.org.apache.hadoop.fs.Path
        self._conf = context._jsc.hadoopConfiguration()

    def read(self, uri: str) -> bytes | None:
        """Return a file; None where there is none.

        Raises:
            DataError: If it cannot be read.
        """
        source = self._path(uri)
        with tempfile.TemporaryDirectory(prefix="bothends-") as scratch:
            copy = Path(scratch) / "file"
            with _said(uri, "read"):
                store = source.getFileSystem(self._conf)
                if not store.exists(source):
                    return None
                store.copyToLocalFile(False, source, self._path(copy.as_uri()), True)
            return copy.read_bytes()

    def write(self, uri: str, content: bytes) -> None:
        """Write a file, whole or not at all.

        Raises:
            DataError: If it cannot be written.
        """
        target = self._path(uri)
        with tempfile.TemporaryDirectory(prefix="bothends-") as scratch, _said(uri, "written"):
            copy = Path(scratch) / "file"
            copy.write_bytes(content)
            store = target.getFileSystem(self._conf)
            source = self._path(copy.as_uri())
            if store.getUri().getScheme() in _OBJECT_STORES:
                store.copyFromLocalFile(False, True, source, target)
                return
            store.mkdirs(target.getParent())
            partial = self._path(target.getParent(), f".{target.getName()}.partial")
            store.copyFromLocalFile(False, True, source, partial)
            store.delete(target, False)
            if not store.rename(partial, target):
                raise DataError(f"{uri} cannot be written: it cannot be given its name")

    def names(self, uri: str) -> frozenset[str]:
        """Return the names of the files in a directory; none where it is not there.

        Raises:
            DataError: If it cannot be listed.
        """
        directory = self._path(uri)
        with _said(uri, "listed"):
            store = directory.getFileSystem(self._conf)
            if not store.exists(directory):
                return frozenset()
            return frozenset(each.getPath().getName() for each in store.listStatus(directory))


@contextlib.contextmanager
def _said(uri: str, done: str) -> Iterator[None]:
    """Turn an error of Hadoop's into a sentence of ours."""
    from py4j.protocol import Py4JError, Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        yield
    except Py4JJavaError as error:
        said = str(error.java_exception.toString()).split("\n")[0]
        raise DataError(f"{uri} cannot be {done}: {said}") from error
    except (Py4JError, PySparkException) as error:
        raise DataError(f"{uri} cannot be {done}: {error}") from error
