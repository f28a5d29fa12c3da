"""Files of gzip members, one appended after the other: whole ones are kept whatever happens."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bothends.infra.appending import append_whole
from bothends.infra.errors import RecordError

__all__ = ["append_member", "drop_torn_member", "read_members"]

_CHUNK_BYTES: Final = 1 << 16
_GZIP: Final = 31  # zlib's window bits for gzip with its header and checksum


def append_member(file: Path, content: bytes) -> None:
    """Append a content as one gzip member and flush it to disk.

    Raises:
        OSError: If it cannot be written.
    """
    append_whole(file, gzip.compress(content, mtime=0))


def read_members(file: Path) -> Iterator[bytes]:
    """Yield each member's content. A torn last one is left out.

    Raises:
        RecordError: If the file cannot be read.
    """
    for content, _ in _members(file):
        yield content


def drop_torn_member(file: Path) -> None:
    """Cut off what was being written when the process was killed.

    Raises:
        RecordError: If the file cannot be read.
    """
    end = 0
    for _, after in _members(file):
        end = after
    if file.exists() and file.stat().st_size != end:
        os.truncate(file, end)


def _members(file: Path) -> Iterator[tuple[bytes, int]]:
    """Yield the content of each whole member, and where in the file it ends."""
    if not file.exists():
        return
    try:
        with file.open("rb") as stream:
            rest = b""
            while True:
                member, parts = zlib.decompressobj(_GZIP), []
                while not member.eof:
                    chunk = rest or stream.read(_CHUNK_BYTES)
                    if not chunk:
                        return
                    parts.append(member.decompress(chunk))
                    rest = member.unused_data
                yield b"".join(parts), stream.tell() - len(rest)
    except (OSError, zlib.error) as error:
        raise RecordError(f"{file} cannot be read: {error}") from None
