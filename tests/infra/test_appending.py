"""What cannot be appended whole is not appended at all."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from bothends.infra.appending import append_whole


def test_a_piece_that_does_not_fit_leaves_nothing_of_itself(tmp_path: Path) -> None:
    file = tmp_path / "file"
    append_whole(file, b"first")
    before = file.read_bytes()
    # Some of it fits, and not all.
    piece = bytes((number * number) % 251 for number in range(50_000))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 100, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            append_whole(file, piece)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert file.read_bytes() == before
    append_whole(file, b"second")
    assert file.read_bytes() == b"firstsecond"
