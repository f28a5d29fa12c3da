"""What cannot be appended whole is not appended at all."""

from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from bothends.eval.appending import append_whole
from bothends.eval.members import append_member, read_members


@pytest.mark.parametrize("append", [append_whole, append_member])
def test_a_piece_that_does_not_fit_leaves_nothing_of_itself(
    tmp_path: Path, append: Callable[[Path, bytes], None]
) -> None:
    file = tmp_path / "file"
    append(file, b"first")
    before = file.read_bytes()
    # What gzip makes no shorter: some of it fits, and not all.
    piece = bytes((number * number) % 251 for number in range(50_000))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 100, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            append(file, piece)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert file.read_bytes() == before
    append(file, b"second")
    assert file.read_bytes().startswith(before)
    if append is append_member:
        assert list(read_members(file)) == [b"first", b"second"]
