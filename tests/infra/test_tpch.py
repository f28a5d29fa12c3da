"""TPC-H data: generated for real, whole or not at all, and refused where it is not what it says."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bothends.engines import open_engine
from bothends.infra.dataset import Dataset
from bothends.infra.errors import DataError
from bothends.infra.tpch import tpch_dataset as open_tpch

TABLES = {"region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return open_tpch(0.001, tmp_path_factory.mktemp("small"))


@pytest.fixture
def copy(small: Dataset, tmp_path: Path) -> Path:
    """A root of its own with a copy of the small data, to be damaged."""
    shutil.copytree(small.directory, tmp_path / "tpch" / "sf0.001")
    return tmp_path


def test_tables_have_the_specified_rows(tpch_dataset: Dataset) -> None:
    rows = {table: pq.read_metadata(path).num_rows for table, path in tpch_dataset.tables.items()}
    assert rows == {
        "region": 5,
        "nation": 25,
        "supplier": 100,
        "customer": 1_500,
        "part": 2_000,
        "partsupp": 8_000,
        "orders": 15_000,
        "lineitem": 60_175,
    }


def test_data_set_says_what_it_is(small: Dataset) -> None:
    assert (small.name, small.scale_factor) == ("tpch", 0.001)
    assert small.directory.is_absolute()
    assert small.directory.parts[-2:] == ("tpch", "sf0.001")
    assert set(small.tables) == TABLES
    assert all(path.parent == small.directory for path in small.tables.values())


def test_manifest_tells_generator_rows_and_bytes(small: Dataset) -> None:
    manifest = json.loads((small.directory / "manifest.json").read_text())
    assert manifest["generator"] == "tpchgen-cli"
    assert manifest["scale_factor"] == 0.001
    customer = small.tables["customer"]
    # What `sha256sum customer.parquet | sha256sum` prints.
    listing = f"{hashlib.sha256(customer.read_bytes()).hexdigest()}  customer.parquet\n"
    assert manifest["tables"]["customer"] == {
        "rows": 150,
        "size_bytes": customer.stat().st_size,
        "parts": 1,
        "sha256": hashlib.sha256(listing.encode()).hexdigest(),
    }
    assert set(manifest["tables"]) == TABLES


def test_primary_keys_are_unique(tpch_dataset: Dataset) -> None:
    assert set(tpch_dataset.primary_keys) == TABLES
    for table, key in tpch_dataset.primary_keys.items():
        columns = ", ".join(key)
        assert (
            _count(
                f"SELECT {columns} FROM '{tpch_dataset.tables[table]}' "
                f"GROUP BY {columns} HAVING count(*) > 1"
            )
            == 0
        )


def test_foreign_keys_lead_somewhere(tpch_dataset: Dataset) -> None:
    assert sum(map(len, tpch_dataset.foreign_keys.values())) == 10
    for table, keys in tpch_dataset.foreign_keys.items():
        for key in keys:
            target = tpch_dataset.primary_keys[key.references]
            on = " AND ".join(f"{a} = {b}" for a, b in zip(key.columns, target, strict=True))
            assert (
                _count(
                    f"SELECT 1 FROM '{tpch_dataset.tables[table]}' "
                    f"ANTI JOIN '{tpch_dataset.tables[key.references]}' ON {on}"
                )
                == 0
            )


def test_data_that_is_there_is_not_generated_again(small: Dataset, no_generator: None) -> None:
    assert open_tpch(0.001, small.directory.parents[1]) == small


def test_digest_is_the_datas_own(small: Dataset, copy: Path, tpch_dataset: Dataset) -> None:
    assert open_tpch(0.001, copy).digest == small.digest
    assert small.digest != tpch_dataset.digest


def test_root_may_be_the_data_itself(small: Dataset, copy: Path) -> None:
    own = (copy / "tpch" / "sf0.001").rename(copy / "warehouse")
    (own / "manifest.json").unlink()
    data = open_tpch(0.001, own, generate=False)
    assert (data.directory, data.digest) == (own, small.digest)


def test_tables_may_be_directories(copy: Path) -> None:
    own = (copy / "tpch" / "sf0.001").rename(copy / "warehouse")
    (own / "manifest.json").unlink()
    lines = pq.read_table(own / "lineitem.parquet")
    (own / "lineitem.parquet").unlink()
    (own / "lineitem").mkdir()
    pq.write_table(lines.slice(0, 2_000), own / "lineitem" / "lineitem.1.parquet")
    pq.write_table(lines.slice(2_000), own / "lineitem" / "lineitem.2.parquet")
    assert open_tpch(0.001, own).tables["lineitem"] == own / "lineitem"


@pytest.mark.parametrize("scale_factor", [0.0, -1.0, float("nan"), float("inf")])
def test_scale_factor_must_be_positive(scale_factor: float, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"is not a number above 0"):
        open_tpch(scale_factor, tmp_path)


@pytest.mark.parametrize("root", ["s3://bucket/data", "gs://bucket", "hdfs://host/data"])
def test_remote_roots_are_refused(root: str) -> None:
    with pytest.raises(DataError, match=r"^data in \w+:// cannot .* on this machine$"):
        open_tpch(0.001, Path(root))


def test_missing_data_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no TPC-H data at scale factor 0.001 below"):
        open_tpch(0.001, tmp_path, generate=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("root", [".", "tpch/sf0.001"])
def test_incomplete_data_is_refused(root: str, copy: Path) -> None:
    (copy / "tpch" / "sf0.001" / "orders.parquet").unlink()
    with pytest.raises(DataError, match=r"is incomplete, it lacks orders; "):
        open_tpch(0.001, copy / root)


def test_a_file_cut_short_is_refused(copy: Path) -> None:
    part = copy / "tpch" / "sf0.001" / "part.parquet"
    part.write_bytes(part.read_bytes()[:-100])
    with pytest.raises(DataError, match=r"part.parquet is not a readable Parquet file \(.+\); "):
        open_tpch(0.001, copy)


def test_a_changed_table_is_refused(copy: Path) -> None:
    part = copy / "tpch" / "sf0.001" / "part.parquet"
    pq.write_table(pq.read_table(part).slice(1), part)
    with pytest.raises(DataError, match=r"table part in .* is not as it was generated"):
        open_tpch(0.001, copy)


def test_a_broken_manifest_is_refused(copy: Path) -> None:
    (copy / "tpch" / "sf0.001" / "manifest.json").write_text("{")
    with pytest.raises(DataError, match=r"manifest.json cannot be read as a manifest; "):
        open_tpch(0.001, copy)


def test_another_scale_factor_is_refused(copy: Path) -> None:
    directory = (copy / "tpch" / "sf0.001").rename(copy / "tpch" / "sf0.01")
    with pytest.raises(DataError, match=r"is of scale factor 0.001, not 0.01; "):
        open_tpch(0.01, copy)
    (directory / "manifest.json").unlink()
    with pytest.raises(DataError, match=r"supplier in .* has 10 rows where .* 0.01 has 100; "):
        open_tpch(0.01, copy)


def test_orders_have_one_to_seven_lines(copy: Path) -> None:
    directory = copy / "tpch" / "sf0.001"
    (directory / "manifest.json").unlink()
    pq.write_table(pa.table({"l_orderkey": [1]}), directory / "lineitem.parquet")
    with pytest.raises(DataError, match=r"lineitem .* has 1 rows, which .* for 1,500 orders"):
        open_tpch(0.001, copy)


def test_a_root_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"cannot be written \(Not a directory\); "):
        open_tpch(0.001, tmp_path / "file")


def test_missing_generator_is_named(tmp_path: Path, no_generator: None) -> None:
    with pytest.raises(DataError, match=r"pip install tpchgen-cli$"):
        open_tpch(0.001, tmp_path)
    assert list((tmp_path / "tpch").iterdir()) == []


def test_a_failing_generator_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _generator(tmp_path / "bin", 'echo half > "$3/part.parquet"; echo "disk full" >&2; exit 1')
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    with pytest.raises(DataError, match=r"could not generate .*: disk full; free some space"):
        open_tpch(0.001, tmp_path / "data")
    assert list((tmp_path / "data" / "tpch").iterdir()) == []


def test_a_killed_generation_is_as_if_it_had_not_begun(tmp_path: Path) -> None:
    _generator(tmp_path / "bin", 'echo half > "$3/part.parquet"; kill -9 $PPID')
    program = (
        "import sys; from pathlib import Path; from bothends.infra.tpch import tpch_dataset; "
        "sys.executable = sys.argv[1]; tpch_dataset(0.001, Path(sys.argv[2]))"
    )
    arguments = [str(tmp_path / "bin" / "python"), str(tmp_path / "data")]
    killed = subprocess.run([sys.executable, "-c", program, *arguments])
    assert killed.returncode == -9
    assert not (tmp_path / "data" / "tpch" / "sf0.001").exists()
    assert len(open_tpch(0.001, tmp_path / "data").tables) == 8


def test_two_that_generate_at_once_share_the_first_ones(
    small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "data" / "tpch" / "sf0.001"
    _generator(
        tmp_path / "bin",
        f'cp "{small.directory}"/*.parquet "$3"; cp -r "{small.directory}" "{target}"',
    )
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    assert open_tpch(0.001, tmp_path / "data").digest == small.digest
    assert list(target.parent.iterdir()) == [target]


@pytest.fixture
def no_generator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))


def _generator(directory: Path, script: str) -> None:
    """Write a generator that runs a shell script; $3 is the directory it is to fill."""
    directory.mkdir()
    program = directory / "tpchgen-cli"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def _count(query: str) -> int:
    return len(duckdb.sql(query).fetchall())


def test_little_data_has_no_key_that_it_does_not_obey(small: Dataset) -> None:
    # With ten suppliers S, i * (S / 4 + (p - 1) / S) mod S is the same for two i of some part p.
    assert "partsupp" not in small.primary_keys
    assert "lineitem" not in small.foreign_keys
    assert small.primary_keys["lineitem"] == ("l_orderkey", "l_linenumber")
    with open_engine("sqlite", small) as engine:
        assert engine.execute("SELECT count(*) FROM partsupp").rows == ((800,),)
