"""Appended gzip members are one gzip file; a torn last one costs nothing but itself."""

from __future__ import annotations

import gzip
import os
import resource
from pathlib import Path

import pytest

from bothends.eval.members import append_member, drop_torn_member, read_members
from bothends.infra.errors import RecordError

# The second is larger than what is read at once, and does not compress.
CONTENTS = (b"one\n", os.urandom(200_000), b"", b"four\n" * 50_000)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "m.gz"
    for content in CONTENTS:
        append_member(file, content)
    return file


def test_members_are_read_one_by_one_and_gzip_reads_them_as_one(file: Path) -> None:
    assert tuple(read_members(file)) == CONTENTS
    assert gzip.decompress(file.read_bytes()) == b"".join(CONTENTS)


@pytest.mark.parametrize("cut", [1, 7, 20])
def test_a_torn_last_member_is_left_out_and_then_dropped(file: Path, cut: int) -> None:
    whole = file.read_bytes()
    file.write_bytes(whole[:-cut])
    assert tuple(read_members(file)) == CONTENTS[:3]
    drop_torn_member(file)
    append_member(file, b"five")
    assert tuple(read_members(file)) == (*CONTENTS[:3], b"five")


def test_what_is_whole_is_not_touched_and_what_is_missing_is_nothing(file: Path) -> None:
    whole = file.read_bytes()
    drop_torn_member(file)
    assert file.read_bytes() == whole
    drop_torn_member(file.with_name("none.gz"))
    assert tuple(read_members(file.with_name("none.gz"))) == ()


def test_damage_is_named(file: Path) -> None:
    file.write_bytes(b"no gzip" + file.read_bytes())
    with pytest.raises(RecordError, match=r"m\.gz cannot be read"):
        tuple(read_members(file))


def test_a_member_that_does_not_fit_leaves_nothing_of_itself(tmp_path: Path) -> None:
    file = tmp_path / "file"
    append_member(file, b"first")
    before = file.read_bytes()
    # What gzip makes no shorter: some of it fits, and not all.
    piece = bytes((number * number) % 251 for number in range(50_000))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 100, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            append_member(file, piece)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert file.read_bytes() == before
    append_member(file, b"second")
    assert file.read_bytes().startswith(before)
    assert list(read_members(file)) == [b"first", b"second"]
