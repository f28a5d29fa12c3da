"""A bucket of S3's, for the objects of jobs: whole ones, of some megabytes at most."""

from __future__ import annotations

import re
from typing import Final

from bothends.infra.aws import Aws
from bothends.infra.errors import CloudError, UsageError

__all__ = ["Bucket", "split_address"]

_ADDRESS: Final = re.compile(r"s3[an]?://([A-Za-z0-9][A-Za-z0-9._-]{2,62})(?:/(.*))?")
_AT_ONCE: Final = 1000  # as many as S3 deletes with one request


def split_address(address: str) -> tuple[str, str]:
    """Return the bucket and the key of `s3://bucket/key`; the key may be empty.

    Raises:
        UsageError: If it is no such address.
    """
    match = _ADDRESS.fullmatch(address)
    if match is None:
        raise UsageError(f"{address} is no address in S3; write s3://bucket/prefix")
    return match[1], match[2] or ""


class Bucket:
    """A bucket. All of it raises CloudError where S3 refuses or does not answer.

    Args:
        aws: AWS, in its region.
        name: Its name.
    """

    def __init__(self, aws: Aws, name: str) -> None:
        self._aws, self.name = aws, name

    def uri(self, key: str) -> str:
        """Return an object's address."""
        return f"s3://{self.name}/{key}"

    def put(self, key: str, content: bytes) -> str:
        """Store an object, whole or not at all, and return its address."""
        self._aws.ask("s3", "put_object", Bucket=self.name, Key=key, Body=content)
        return self.uri(key)

    def get(self, key: str) -> bytes | None:
        """Return an object; None where there is none."""
        client = self._aws.client("s3")

        def read() -> bytes | None:
            # The body is read within the attempt: a connection may end in the middle of it.
            try:
                content: bytes = client.get_object(Bucket=self.name, Key=key)["Body"].read()
            except client.exceptions.NoSuchKey:
                return None
            return content

        return self._aws.attempt(f"read {self.uri(key)}", read)

    def sizes(self, prefix: str) -> dict[str, int]:
        """Return the keys that begin with a prefix, in their order, with their bytes."""
        told = self._aws.all("s3", "list_objects_v2", "Contents", Bucket=self.name, Prefix=prefix)
        return dict(sorted((each["Key"], each["Size"]) for each in told))

    def delete(self, prefix: str) -> int:
        """Delete all that begins with a prefix, older versions too; return how many objects.

        Raises:
            CloudError: As all of it, and where S3 keeps some of them.
        """
        asked = {"Bucket": self.name, "Prefix": prefix}
        versions = self._aws.all("s3", "list_object_versions", "Versions", **asked)
        markers = self._aws.all("s3", "list_object_versions", "DeleteMarkers", **asked)
        every = [
            {"Key": each["Key"], "VersionId": each["VersionId"]} for each in (*versions, *markers)
        ]
        for start in range(0, len(every), _AT_ONCE):
            answer = self._aws.ask(
                "s3",
                "delete_objects",
                Bucket=self.name,
                Delete={"Objects": every[start : start + _AT_ONCE], "Quiet": True},
            )
            for kept in answer.get("Errors", ()):
                raise CloudError(
                    f"AWS: cannot delete {self.uri(kept['Key'])}: {kept.get('Message', '')}"
                )
        return len({each["Key"] for each in versions})
