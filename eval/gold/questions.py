"""The questions of a suite in the layout that its authors give it, as far as gold is concerned."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Final

from bothends.eval.gold.gate import GoldQuestion
from bothends.infra.errors import DataError

__all__ = ["bird_questions"]

_FILES: Final = ("dev.json", "mini_dev_sqlite.json")


def bird_questions(directory: Path) -> tuple[list[GoldQuestion], str]:
    """Return BIRD's questions in its own layout, and the hash of the file that they are from.

    Raises:
        DataError: If the file is not there or not BIRD's.
    """
    path = next((directory / name for name in _FILES if (directory / name).is_file()), None)
    if path is None:
        raise DataError(f"{directory} holds none of {', '.join(_FILES)}, BIRD's questions")
    try:
        content = path.read_bytes()
        questions = [
            GoldQuestion(str(item["question_id"]), str(item["db_id"]), str(item["SQL"]))
            for item in json.loads(content)
        ]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} cannot be read as BIRD's questions: {error!r}") from error
    return questions, hashlib.sha256(content).hexdigest()
