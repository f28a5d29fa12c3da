"""How much of BIRD's gold means the same elsewhere; skipped where BIRD is not there."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from bothends.eval.gold.context import Target
from bothends.eval.gold.entries import GoldEntry
from bothends.eval.gold.gate import Database, GoldQuestion, run_gate
from bothends.eval.gold.questions import bird_questions
from bothends.infra.sqlite_import import find_sqlite, import_sqlite

pytestmark = pytest.mark.slow
# The queries of this slice whose LIMIT chooses among rows that SQL does not tell apart: known, so
# that a rule or a probe that changes its mind is seen.
CHANCE = frozenset(
    {
        *("212", "244", "250", "251", "736", "751", "766", "794", "802", "810", "812", "832"),
        *("1318", "1365", "1388", "1389", "1407"),
    }
)
SAMPLE = 6


@pytest.fixture(scope="module")
def databases(bird: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Database]:
    out = tmp_path_factory.mktemp("bird")
    files = find_sqlite(bird)
    for name, path in files.items():
        import_sqlite(path, out / name)
    return {name: Database(path, out / name) for name, path in files.items()}


def gate(
    questions: list[GoldQuestion], databases: dict[str, Database], target: Target
) -> list[GoldEntry]:
    return run_gate(questions, databases, target, questions_sha256="", timeout_s=60)


@pytest.mark.xdist_group("bird")
def test_postgres(bird: Path, databases: dict[str, Database]) -> None:
    questions, _ = bird_questions(bird)
    entries = gate(questions, databases, "postgres")
    admitted = [entry for entry in entries if entry.status == "admitted"]
    assert len(admitted) / len(entries) >= 0.95, Counter(entry.cause for entry in entries)
    excluded = {entry.question_id: entry.cause for entry in entries if entry not in admitted}
    if len(questions) == 432:
        assert excluded == dict.fromkeys(CHANCE, "chance")


def test_spark(bird: Path, databases: dict[str, Database]) -> None:
    """All take minutes there: a fixed sample, from one database, and so on one server."""
    questions, _ = bird_questions(bird)
    name = min(databases, key=lambda each: databases[each].sqlite.stat().st_size)
    sample = [each for each in questions if each.database == name and each.id not in CHANCE]
    entries = gate(sample[::16][:SAMPLE], {name: databases[name]}, "spark")
    assert Counter(entry.status for entry in entries) == {"admitted": len(entries)}
