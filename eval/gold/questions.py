"""The questions of a suite as far as gold is concerned."""

from __future__ import annotations

import hashlib
from pathlib import Path

from bothends.eval.gold.gate import GoldQuestion
from bothends.eval.suites.bird import BirdSuite, question_file

__all__ = ["bird_questions"]


def bird_questions(directory: Path) -> tuple[list[GoldQuestion], str]:
    """Return BIRD's questions in its own layout, and the hash of the file that they are from.

    Raises:
        DataError: If the file is not there or not BIRD's.
    """
    questions = [
        GoldQuestion(question.id, question.database, question.gold_sql("sqlite"))
        for question in BirdSuite(directory).questions
    ]
    return questions, hashlib.sha256(question_file(directory).read_bytes()).hexdigest()
