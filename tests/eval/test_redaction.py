"""The user's redacting function is found by its name, in the working directory too."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bothends.eval.experiment import Experiment
from bothends.eval.redaction import load_redaction, name_of
from bothends.infra.errors import UsageError


def test_it_is_imported_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "our_masking.py").write_text("def stars(column, value):\n    return '*'\n")
    monkeypatch.chdir(tmp_path)
    before = list(sys.path)
    found = load_redaction("our_masking:stars")
    assert found is not None
    assert found("name", "Ann") == "*"
    assert sys.path == before
    assert name_of(found) == "our_masking:stars"
    assert load_redaction(None) is None


@pytest.mark.parametrize(
    "name", ["no_such_module:f", "json:no_such", "json:__name__"], ids=["module", "name", "kind"]
)
def test_what_cannot_be_imported_is_a_clear_error(name: str) -> None:
    with pytest.raises(UsageError, match=name):
        load_redaction(name)


def test_a_name_of_another_form_is_refused() -> None:
    with pytest.raises(ValueError, match="redact"):
        Experiment(suite="tpch", engine="sqlite", models=("m:m",), redact="module.function")
