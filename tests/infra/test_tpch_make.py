"""Making TPC-H data: cut by one rule, the same rows whatever the parts, and resumed by table."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from bothends.infra.dataset import Dataset
from bothends.infra.errors import DataError
from bothends.infra.tpch import make_tpch
from bothends.infra.tpch import tpch_dataset as open_tpch
from bothends.infra.tpch_generator import TableProgress
from bothends.infra.tpch_plan import plan_tables

SMALL = {"region", "nation", "supplier", "customer", "part", "partsupp", "orders"}
PYTHON = sys.executable
GENERATOR = shutil.which("tpchgen-cli", path=str(Path(PYTHON).parent))
PARTS = 120_000
"""Bytes of a part that cut lineitem, and no other table, at scale factor 0.001: in two."""
MAKE = (
    "import sys; from pathlib import Path; from bothends.infra.tpch import make_tpch; "
    "sys.executable = sys.argv[1]; make_tpch(0.001, Path(sys.argv[2]), part_bytes=120_000)"
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return make_tpch(0.001, tmp_path_factory.mktemp("whole"), part_bytes=PARTS)


@pytest.fixture
def copy(whole: Dataset, tmp_path: Path) -> Path:
    """A root of its own with a copy of the data, to be damaged."""
    shutil.copytree(whole.directory, tmp_path / "data" / "tpch" / "sf0.001")
    return tmp_path / "data"


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """The tables that each call of the generator in this process is for."""
    program = generator(tmp_path / "logging", "")
    monkeypatch.setattr(sys, "executable", str(program))
    return lambda: logged(tmp_path / "logging")


def generator(directory: Path, before: str) -> Path:
    """Write a generator that runs a script and then the real one; return the Python beside it.

    The script finds its directory in $3 and its tables in ${10}.
    """
    directory.mkdir()
    program = directory / "tpchgen-cli"
    program.write_text(
        f'#!/bin/sh\necho "${{10}}" >> "{directory}/log"\n{before}\nexec {GENERATOR} "$@"\n'
    )
    program.chmod(0o755)
    return directory / "python"


def logged(directory: Path) -> list[str]:
    log = directory / "log"
    return log.read_text().split() if log.exists() else []


def facts(directory: Path) -> dict[str, object]:
    tables: dict[str, object] = json.loads((directory / "manifest.json").read_text())["tables"]
    return tables


def test_a_table_has_a_file_for_each_128_mb() -> None:
    # 2,529, 692, 450 and 140 MB at scale factor 10, divided by 128 MB and rounded up.
    cut = {plan.table: plan.parts for plan in plan_tables(10) if plan.parts > 1}
    assert cut == {"lineitem": 20, "orders": 6, "partsupp": 4, "customer": 2}
    assert {plan.table: plan.parts for plan in plan_tables(1)} == dict.fromkeys(SMALL, 1) | {
        "lineitem": 2
    }


def test_the_estimate_is_near(tpch_dataset: Dataset) -> None:
    real = sum(path.stat().st_size for path in tpch_dataset.tables.values())
    assert sum(plan.size_bytes for plan in plan_tables(0.01)) == pytest.approx(real, rel=0.15)


@pytest.mark.parametrize(("scale_factor", "gb"), [(10, 3.92), (100, 41.5), (1000, 426)])
def test_the_estimate_is_near_where_data_is_large(scale_factor: float, gb: float) -> None:
    # By single parts of each table, generated at that scale factor.
    assert sum(plan.size_bytes for plan in plan_tables(scale_factor)) == pytest.approx(
        gb * 1e9, rel=0.04
    )


def test_rows_are_the_same_whatever_the_parts(tpch_dataset: Dataset, tmp_path: Path) -> None:
    cut = make_tpch(0.01, tmp_path, part_bytes=300_000)
    # 2.32, 0.635 and 0.45 MB at scale factor 0.01, by 0.3 MB, rounded up.
    files = {table: len(list(path.glob("*"))) for table, path in cut.tables.items()}
    assert {table: count for table, count in files.items() if count} == {
        "lineitem": 8,
        "orders": 3,
        "partsupp": 2,
    }
    for table, path in cut.tables.items():
        several = f"'{path}/*.parquet'" if path.is_dir() else f"'{path}'"
        one = f"'{tpch_dataset.tables[table]}'"
        # As many rows, of which each is one of the others.
        counted = f"SELECT count(*) FROM {several}", f"SELECT count(*) FROM {one}"
        assert rows(counted[0]) == rows(counted[1])
        assert rows(f"SELECT * FROM {several} EXCEPT ALL SELECT * FROM {one}") == []
    assert rows(f"SELECT count(*) FROM '{cut.tables['lineitem']}/*.parquet'") == [(60_175,)]


def test_what_is_made_is_what_a_run_finds(whole: Dataset, no_generator: None) -> None:
    assert whole.directory.parts[-2:] == ("tpch", "sf0.001")
    assert open_tpch(0.001, whole.directory.parents[1]) == whole
    assert make_tpch(0.001, whole.directory.parents[1]) == whole


def test_each_table_is_told_of_until_it_is_whole(tmp_path: Path) -> None:
    told: list[TableProgress] = []
    made = make_tpch(0.001, tmp_path, told.append, part_bytes=PARTS)
    done = {each.plan.table: (each.parts, each.size_bytes) for each in told if each.done}
    assert done == {
        table: (record["parts"], record["size_bytes"])  # type: ignore[index]
        for table, record in facts(made.directory).items()
    }
    assert done["lineitem"][0] == 2
    told.clear()
    (made.directory / "part.parquet").unlink()
    make_tpch(0.001, tmp_path, told.append, part_bytes=PARTS)
    assert {each.plan.table: (each.parts, each.size_bytes) for each in told if each.done} == done


def test_a_killed_command_goes_on_with_the_tables_that_are_missing(
    whole: Dataset, tmp_path: Path, calls: Callable[[], list[str]]
) -> None:
    half = 'mkdir "$3/lineitem"; echo half > "$3/lineitem/lineitem.1.parquet.inprogress"'
    stops = f'case "${{10}}" in lineitem) {half}; kill -9 $PPID; exit;; esac'
    program = generator(tmp_path / "killing", stops)
    data = tmp_path / "data"
    killed = subprocess.run([PYTHON, "-c", MAKE, str(program), str(data)])
    assert killed.returncode == -9
    assert not (data / "tpch" / "sf0.001").exists()
    partial = data / "tpch" / "sf0.001.partial"
    assert set(facts(partial)) == SMALL
    assert make_tpch(0.001, data, part_bytes=PARTS).digest == whole.digest
    assert calls() == ["lineitem"]
    assert facts(data / "tpch" / "sf0.001") == facts(whole.directory)
    assert [path.name for path in (data / "tpch").iterdir()] == ["sf0.001"]
    assert not [path for path in (data / "tpch" / "sf0.001").iterdir() if path.name[0] == "."]


def test_small_tables_are_kept_one_by_one(
    whole: Dataset, tmp_path: Path, calls: Callable[[], list[str]]
) -> None:
    program = generator(
        tmp_path / "killing",
        f'{GENERATOR} parquet --output-dir "$3" --quiet --scale-factor 0.001 --tables region\n'
        'until grep -q region "$3/../manifest.json"; do sleep 0.05; done\n'
        "kill -9 $PPID; exit",
    )
    killed = subprocess.run([PYTHON, "-c", MAKE, str(program), str(tmp_path / "data")])
    assert killed.returncode == -9
    make_tpch(0.001, tmp_path / "data", part_bytes=PARTS)
    assert calls() == ["nation,supplier,customer,part,partsupp,orders", "lineitem"]


def test_what_changed_after_a_kill_is_made_again(
    whole: Dataset, copy: Path, calls: Callable[[], list[str]]
) -> None:
    partial = (copy / "tpch" / "sf0.001").rename(copy / "tpch" / "sf0.001.partial")
    part = partial / "lineitem" / "lineitem.2.parquet"
    content = bytearray(part.read_bytes())
    content[1_000] ^= 1  # the same size, and a footer as before: as of a disk that lost a page
    part.write_bytes(content)
    assert make_tpch(0.001, copy, part_bytes=PARTS).digest == whole.digest
    assert calls() == ["lineitem"]
    assert facts(copy / "tpch" / "sf0.001") == facts(whole.directory)


@pytest.mark.parametrize("damage", ["lost", "cut short", "a part lost", "twice"])
def test_damaged_data_is_mended_by_table(
    damage: str, whole: Dataset, copy: Path, calls: Callable[[], list[str]]
) -> None:
    directory = copy / "tpch" / "sf0.001"
    part = directory / "part.parquet"
    match damage:
        case "lost":
            part.unlink()
        case "cut short":
            part.write_bytes(part.read_bytes()[:-100])
        case "a part lost":
            (directory / "lineitem" / "lineitem.1.parquet").unlink()
        case "twice":
            (directory / "part").mkdir()
            shutil.copy(part, directory / "part" / "part.1.parquet")
    with pytest.raises(DataError):
        open_tpch(0.001, copy)
    assert make_tpch(0.001, copy, part_bytes=PARTS).digest == whole.digest
    assert calls() == ["lineitem" if damage == "a part lost" else "part"]
    assert open_tpch(0.001, copy).digest == whole.digest


def test_data_of_ones_own_is_never_touched(copy: Path, no_generator: None) -> None:
    directory = copy / "tpch" / "sf0.001"
    (directory / "manifest.json").unlink()
    (directory / "part.parquet").unlink()
    for root in (copy, directory):
        with pytest.raises(DataError, match=r"is incomplete, it lacks part; "):
            make_tpch(0.001, root)


def test_manifests_of_before_are_valid(whole: Dataset, copy: Path, no_generator: None) -> None:
    path = copy / "tpch" / "sf0.001" / "manifest.json"
    manifest = json.loads(path.read_text())
    for table in manifest["tables"].values():
        del table["parts"], table["sha256"]
    path.write_text(json.dumps(manifest))
    assert make_tpch(0.001, copy).digest == open_tpch(0.001, copy).digest == whole.digest


def test_two_at_once_make_it_once(tmp_path: Path) -> None:
    program = generator(tmp_path / "logging", "")
    command = [PYTHON, "-c", MAKE, str(program), str(tmp_path / "data")]
    both = [subprocess.Popen(command) for _ in range(2)]
    assert [process.wait(60) for process in both] == [0, 0]
    assert len(logged(tmp_path / "logging")) == 2
    assert [path.name for path in (tmp_path / "data" / "tpch").iterdir()] == ["sf0.001"]


def test_a_disk_with_too_little_room_is_told_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(9e12, 9e12, 442_000_000_000))
    with pytest.raises(DataError, match=r"about 442.2 GB and \S+ has 442.0 GB free; free some"):
        make_tpch(1000, tmp_path / "data")
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_fills_up_loses_no_table_that_is_whole(
    tmp_path: Path, calls: Callable[[], list[str]]
) -> None:
    # A limit on the size of a file is met as the end of a disk is, in the midst of writing: each
    # of lineitem's two parts takes about 122 kB, no other file more than 70.
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (90_000, 90_000)); "
    program = generator(tmp_path / "plain", "")
    data = tmp_path / "data"
    run = [PYTHON, "-c", limit + MAKE, str(program), str(data)]
    failed = subprocess.run(run, capture_output=True, text=True)
    assert failed.returncode == 1
    assert "DataError: tpchgen-cli could not generate TPC-H data" in failed.stderr
    assert not (data / "tpch" / "sf0.001").exists()
    make_tpch(0.001, data, part_bytes=PARTS)
    assert calls() == ["lineitem"]


@pytest.fixture
def no_generator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))


def rows(query: str) -> list[tuple[object, ...]]:
    return duckdb.sql(query).fetchall()
