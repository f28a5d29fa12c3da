"""TPC-H tables in a bucket of S3, or of another service that speaks its protocol."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from bothends.infra.errors import DataError
from bothends.infra.parquet import table_files
from bothends.infra.tpch_fill import fill
from bothends.infra.tpch_generator import Watcher
from bothends.infra.tpch_local import check_free
from bothends.infra.tpch_manifest import MANIFEST, Manifest, TableRecord
from bothends.infra.tpch_plan import PART_BYTES, TablePlan, plan_tables

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo

__all__ = ["S3Store", "make_tpch_on_s3"]

_ADDRESS: Final = re.compile(r"s3://(?P<bucket>[A-Za-z0-9][A-Za-z0-9._-]{2,62})(?:/(?P<key>.*))?")
_UNREACHED: Final = (
    "check the network, set AWS_REGION to the bucket's region, and AWS_ENDPOINT_URL where the "
    "service is not Amazon's"
)
_CREDENTIALS: Final = (
    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN where they are "
    "temporary), or AWS_PROFILE, to those of somebody who may list, write and delete there, and "
    "AWS_REGION to the bucket's region"
)


def make_tpch_on_s3(
    scale_factor: float,
    address: str,
    watcher: Watcher = lambda _: None,
    *,
    part_bytes: int = PART_BYTES,
) -> tuple[str, Manifest]:
    """Write the TPC-H tables that are missing to `<address>/tpch/sf<scale factor>/`.

    Each file is made on this machine and sent before the next, so no more than one table of one
    file, or one part, is held here.

    Args:
        scale_factor: The scale factor.
        address: `s3://bucket/prefix`.
        watcher: Is told how far each table is.
        part_bytes: A table gets one file for each so many bytes, and at least one.

    Returns:
        The address of the data, and its manifest, which is there too.

    Raises:
        DataError: If the address is none, the bucket cannot be read and written, this machine has
            too little room for one file, or the generator fails.
    """
    plans = plan_tables(scale_factor, part_bytes)
    store = S3Store(address, f"tpch/sf{scale_factor:g}")
    return store.address, fill(store, scale_factor, plans, watcher)


class S3Store:
    """A prefix of a bucket that is filled with tables.

    Args:
        address: `s3://bucket/prefix`. Keys, region and endpoint come from the environment.
        folder: What is appended to it.

    Attributes:
        address: The address of the whole prefix.

    Raises:
        DataError: If the address is none.
    """

    by_part = True

    def __init__(self, address: str, folder: str) -> None:
        from pyarrow.fs import S3FileSystem

        match = _ADDRESS.fullmatch(address)
        if match is None:
            raise DataError(f"{address} is no address in S3; write s3://bucket/prefix")
        steps = [match["bucket"], *(match["key"] or "").split("/"), folder]
        self._prefix = "/".join(filter(None, steps))
        self.address = f"s3://{self._prefix}"
        # pyarrow itself knows the variables of keys and region, but not that of the endpoint.
        endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL", "")
        scheme, _, host = endpoint.rpartition("://")
        with self._said():
            self._files = S3FileSystem(
                endpoint_override=host or None, scheme=scheme or ("https" if host else None)
            )

    def manifest(self) -> Manifest | None:
        """Return what is recorded there; None where nothing is, or nothing readable.

        Raises:
            DataError: If the bucket is not there, or cannot be read.
        """
        from pyarrow.fs import FileType

        if not self._list(MANIFEST):
            bucket = self._prefix.partition("/")[0]
            with self._said():
                if self._files.get_file_info(bucket).type == FileType.NotFound:
                    raise DataError(
                        f"there is no bucket {bucket} to write to; create it, or name another"
                    )
            return None
        with self._said(), self._files.open_input_stream(f"{self._prefix}/{MANIFEST}") as stream:
            content = stream.read()
        try:
            return Manifest.model_validate_json(content)
        except ValidationError:
            return None

    def whole(self, table: str, record: TableRecord) -> bool:
        """Tell whether a table's files are as many as were recorded, with as many bytes."""
        files = [*self._list(f"{table}.parquet"), *self._list(table)]
        size_bytes = sum(file.size for file in files)
        return (len(files), size_bytes) == (record.parts, record.size_bytes)

    def check_room(self, plans: Sequence[TablePlan]) -> None:
        """Refuse what this machine has no room for while it is sent.

        Raises:
            DataError: If its temporary directory has less free than is held at once.
        """
        single = sum(plan.size_bytes for plan in plans if plan.parts == 1)
        part = max((plan.size_bytes // plan.parts for plan in plans), default=0)
        check_free(Path(tempfile.gettempdir()), max(single, part), "making the tables takes")

    @contextlib.contextmanager
    def scratch(self) -> Iterator[Path]:
        """Make a temporary directory on this machine."""
        with tempfile.TemporaryDirectory(prefix="bothends-tpch-") as scratch:
            yield Path(scratch)

    def add(self, table: str, entry: Path, *, first: bool) -> None:
        """Send files of a table."""
        from pyarrow.fs import LocalFileSystem, copy_files

        if first:
            for old in (*self._list(f"{table}.parquet"), *self._list(table)):
                with self._said():
                    self._files.delete_file(old.path)
        for file in table_files(entry):
            with self._said():
                copy_files(
                    str(file),
                    f"{self._prefix}/{file.relative_to(entry.parent).as_posix()}",
                    source_filesystem=LocalFileSystem(),
                    destination_filesystem=self._files,
                )

    def record(self, manifest: Manifest) -> None:
        """Write the manifest in place of the one before; S3 shows the one or the other."""
        content = (manifest.model_dump_json(indent=2) + "\n").encode()
        with self._said(), self._files.open_output_stream(f"{self._prefix}/{MANIFEST}") as stream:
            stream.write(content)

    def _list(self, name: str) -> list[FileInfo]:
        """Return the file of this name, or the files below it."""
        from pyarrow.fs import FileSelector, FileType

        path = f"{self._prefix}/{name}"
        with self._said():
            found = self._files.get_file_info(path)
            if found.type == FileType.Directory:
                below = self._files.get_file_info(FileSelector(path, recursive=True))
                return [file for file in below if file.type == FileType.File]
        return [found] if found.type == FileType.File else []

    @contextlib.contextmanager
    def _said(self) -> Iterator[None]:
        """Turn an error of S3's into a sentence of ours."""
        try:
            yield
        except (OSError, ValueError) as error:
            first = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
            remedy = _CREDENTIALS
            if "NETWORK_CONNECTION" in first or isinstance(error, ValueError):
                remedy = _UNREACHED
            raise DataError(
                f"{self.address} cannot be read or written ({first}); {remedy}"
            ) from error
