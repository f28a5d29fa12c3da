"""What a step of EMR's wrote to its standard error, which EMR brings to S3 after a while."""

from __future__ import annotations

import gzip
import io
from typing import Final

from bothends.infra.aws import Aws
from bothends.infra.s3 import Bucket, split_address

__all__ = ["log_end"]

_LINES: Final = 12
_CHARACTERS: Final = 2000
_BLOCK_BYTES: Final = 1024**2


def log_end(aws: Aws, folder: str, *, wait_s: float, poll_s: float) -> str | None:
    """Return the last lines of a log, waiting for it to appear.

    Args:
        aws: AWS, in the bucket's region.
        folder: The address of the folder that holds `stderr.gz`.
        wait_s: How long it may take to appear.
        poll_s: How often to look.

    Returns:
        The lines; None where there is no log, or none that can be read.

    Raises:
        CloudError: If S3 refuses or does not answer.
    """
    name, prefix = split_address(folder)
    bucket, key = Bucket(aws, name), f"{prefix.rstrip('/')}/stderr.gz"
    end = aws.clock.now() + wait_s
    while (content := bucket.get(key)) is None:
        if aws.clock.now() >= end:
            return None
        aws.clock.sleep(poll_s)
    kept = b""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as opened:
            while block := opened.read(_BLOCK_BYTES):
                kept = (kept + block)[-_BLOCK_BYTES:]
    except (OSError, EOFError):
        if not kept:
            return None
    lines = [line.rstrip() for line in kept.decode("utf-8", "replace").splitlines()]
    return "\n".join([line for line in lines if line][-_LINES:])[-_CHARACTERS:]
