"""Appending to a file: the whole of a piece, or nothing of it, whatever happens."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["append_whole", "drop_torn_line"]


def append_whole(file: Path, content: bytes) -> None:
    """Append a content and flush it to disk; where that fails, take back what was written of it.

    Raises:
        OSError: If it cannot be written.
    """
    # Without a buffer, which would write what is left in it on closing.
    with file.open("ab", buffering=0) as stream:
        end = stream.tell()
        try:
            left = memoryview(content)
            while left:
                left = left[stream.write(left) :]
            os.fsync(stream.fileno())
        except OSError:
            # Half a piece must not be gone on with.
            stream.truncate(end)
            raise


def drop_torn_line(file: Path) -> None:
    """Drop what follows the last line break: the line that a killed process was writing."""
    if file.exists():
        whole = file.read_bytes()
        end = whole.rfind(b"\n") + 1
        if end != len(whole):
            os.truncate(file, end)


def write_whole(file: Path, text: str) -> None:
    """Write a file in place of what it held, so that it is always the old or the new one, whole.

    Args:
        file: The file, in a directory that is there.
        text: What it is to hold.

    Raises:
        OSError: If it cannot be written.
    """
    temporary = file.with_name(f"{file.name}.tmp")
    with temporary.open("w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(file)
