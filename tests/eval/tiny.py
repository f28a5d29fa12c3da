"""A suite of two questions over a few rows, for tests of how runs go and not of what they find."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from bothends.eval.experiment import Experiment, Regimen

QUESTIONS = ("most", "names")
PRICED = "scripted:perfect?price_as=openai:gpt-4o"
_SUITE = """\
- id: most
  question: What is the largest number?
  gold: SELECT max(number) FROM item
- id: names
  question: Which names are there?
  gold: SELECT name FROM item ORDER BY name
"""


def tiny_experiment(home: Path, **changes: object) -> Experiment:
    """Return an experiment over the suite, which is made in `home` where it is not there."""
    suite, database = home / "tiny.yaml", home / "tiny.sqlite"
    if not suite.exists():
        with sqlite3.connect(database) as connection:
            connection.execute("CREATE TABLE item (number INTEGER, name TEXT)")
            rows = [(number, f"name {number}") for number in range(100)]
            connection.executemany("INSERT INTO item VALUES (?, ?)", rows)
        connection.close()
        suite.write_text(_SUITE)
    fields = {
        "suite": str(suite),
        "engine": f"sqlite:///{database}",
        "models": (PRICED,),
        "regimen": Regimen(warmups=0, repeats=1),
    }
    return Experiment.model_validate(fields | changes)
