"""The bucket that jobs on AWS share with us: what they read and write, and the data sets."""

from __future__ import annotations

from pydantic import ValidationError

from bothends.infra.aws import Aws
from bothends.infra.errors import DataError
from bothends.infra.job_state import JobData
from bothends.infra.parquet import data_digest
from bothends.infra.s3 import Bucket, split_address
from bothends.infra.tpch_manifest import MANIFEST, Manifest

__all__ = ["JobBucket"]


class JobBucket:
    """The storage half of a `JobSite` on AWS; see there for what its methods do.

    Args:
        aws: AWS, in the bucket's region.
        bucket: The bucket's name.
        data: The address below which data sets lie, as `bothends data SUITE --to` was told it;
            the bucket's folder `data` for None.
    """

    platform: tuple[str, str] | None = ("3.11", "x86_64")
    """What releases of EMR's with Spark 4 run on."""
    poll_s: float = 10.0
    """Seconds between two looks at a job and its records."""

    def __init__(self, aws: Aws, bucket: str, data: str | None = None) -> None:
        self._aws = aws
        self._bucket = Bucket(aws, bucket)
        self._data = (data or f"s3://{bucket}/data").rstrip("/")
        split_address(self._data)
        self._touched: set[str] = set()

    def put(self, name: str, content: bytes) -> str:
        """Store an object, and return its URI."""
        self._touch(name)
        return self._bucket.put(name, content)

    def get(self, name: str) -> bytes | None:
        """Return an object; None where there is none."""
        return self._bucket.get(name)

    def names(self, prefix: str) -> tuple[str, ...]:
        """Return the names of all objects that begin with a prefix, sorted."""
        self._touch(prefix)
        return tuple(self._bucket.sizes(prefix))

    def uri(self, name: str) -> str:
        """Return the URI that Spark knows an object by."""
        return self._bucket.uri(name)

    def clear(self) -> int:
        """Delete the objects of the jobs that were stored or looked for; return how many.

        Raises:
            CloudError: If S3 refuses or does not answer.
        """
        return sum(self._bucket.delete(prefix) for prefix in sorted(self._touched))

    def _touch(self, name: str) -> None:
        """Note whose object it is: a job's folder, `jobs/<id>/`, or what jobs share."""
        self._touched.add("/".join(name.split("/")[:2]))

    def data(self, suite: str, scale_factor: float) -> JobData:
        """Return a suite's data there.

        Raises:
            DataError: If it is not there, or not whole, with the command that puts it there.
        """
        place = f"{self._data}/{suite}/sf{scale_factor:g}"
        remedy = (
            f"put it there with: bothends data {suite} --scale-factor {scale_factor:g} "
            f"--to {self._data}"
        )
        name, folder = split_address(place)
        bucket = self._bucket if name == self._bucket.name else Bucket(self._aws, name)
        content = bucket.get(f"{folder}/{MANIFEST}")
        if content is None:
            raise DataError(f"there is no data in {place}; {remedy}")
        try:
            manifest = Manifest.model_validate_json(content)
        except ValidationError as error:
            raise DataError(f"{place}/{MANIFEST} is no manifest; {remedy}") from error
        sizes = bucket.sizes(f"{folder}/")
        tables = {}
        for table, record in manifest.tables.items():
            path = f"{folder}/{table}.parquet"
            if path not in sizes:
                path = f"{folder}/{table}/"
            found = [size for key, size in sizes.items() if key.startswith(path)]
            if (len(found), sum(found)) != (record.parts, record.size_bytes):
                raise DataError(f"table {table} in {place} is not whole; {remedy}")
            tables[table] = bucket.uri(path.rstrip("/"))
        whole = {table: record.size for table, record in manifest.tables.items()}
        return JobData(tables=tables, described=f"{suite} {data_digest(whole)}")
