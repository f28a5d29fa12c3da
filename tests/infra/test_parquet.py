"""Directories of Parquet: which tables they hold, and what is said of those that hold none."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bothends.infra.errors import DataError
from bothends.infra.parquet import TableSize, parquet_dataset, size


def _write(path: Path, rows: int = 3) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"a": list(range(rows))}), path)
    return path


def test_tables_are_files_and_directories(tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    _write(shop / "items.parquet")
    _write(shop / "sales" / "sales.1.parquet")
    _write(shop / "visits.parquet" / "part-0000.parquet")
    _write(shop / "days" / "year=2024" / "part-0000.parquet")
    _write(shop / "_temporary" / "part-0000.parquet")
    _write(shop / ".hidden.parquet")
    (shop / "notes.txt").write_text("not a table")
    (shop / "empty").mkdir()
    data = parquet_dataset(shop)
    assert (data.name, data.scale_factor, data.directory) == ("shop", None, shop)
    assert data.tables == {
        "days": shop / "days",
        "items": shop / "items.parquet",
        "sales": shop / "sales",
        "visits": shop / "visits.parquet",
    }
    assert not data.primary_keys
    assert not data.foreign_keys


def test_size_adds_a_directorys_files(tmp_path: Path) -> None:
    files = [_write(tmp_path / "t" / f"{n}.parquet", rows=n) for n in (2, 5)]
    _write(tmp_path / "t" / "_temporary" / "half.parquet", rows=7)
    size_bytes = sum(file.stat().st_size for file in files)
    assert size(tmp_path / "t") == TableSize(rows=7, size_bytes=size_bytes)


def test_digest_changes_with_the_data_alone(tmp_path: Path) -> None:
    first = parquet_dataset(_write(tmp_path / "one" / "t.parquet").parent)
    moved = parquet_dataset(_write(tmp_path / "two" / "t.parquet").parent)
    grown = parquet_dataset(_write(tmp_path / "three" / "t.parquet", rows=4).parent)
    named = parquet_dataset(_write(tmp_path / "four" / "u.parquet").parent)
    assert first.digest == moved.digest
    assert len({first.digest, grown.digest, named.digest}) == 3


def test_a_directory_without_tables_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"holds no Parquet table; put a file"):
        parquet_dataset(tmp_path)


def test_a_directory_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere is not a directory; give one"):
        parquet_dataset(tmp_path / "nowhere")


def test_remote_data_is_refused() -> None:
    with pytest.raises(DataError, match=r"^data in s3:// cannot be read"):
        parquet_dataset(Path("s3://bucket/data"))


def test_a_table_held_twice_is_refused(tmp_path: Path) -> None:
    _write(tmp_path / "t.parquet")
    _write(tmp_path / "t" / "1.parquet")
    with pytest.raises(DataError, match=r"holds table 't' twice, as t and t\.parquet; remove one"):
        parquet_dataset(tmp_path)


def test_what_is_not_parquet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match=r"t\.parquet is not a readable Parquet file \(.+\); "):
        parquet_dataset(tmp_path)
