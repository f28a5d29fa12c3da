"""What `bothends run` runs: a file's experiment, and the options that were given before it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bothends.options import option_of, validated

if TYPE_CHECKING:
    from bothends.eval.experiment import Experiment

__all__ = ["resolved"]


def resolved(context: typer.Context, file: Path | None, **settings: Any) -> Experiment:
    """Return the experiment of a file, or of the options alone.

    Args:
        context: The command's, which knows the options that were really given.
        file: The file; the options given go before what it holds, their defaults do not.
        settings: What all options say, by the experiment's fields; nested models whole.

    Raises:
        UsageError: If the file, or an option, is not as it should be.
    """
    from bothends.eval.experiment import Experiment
    from bothends.eval.experiment_file import read_experiment
    from bothends.infra.errors import UsageError

    if file is not None:
        return read_experiment(file, _given(context, settings))
    if not settings["models"]:
        raise UsageError(
            "say what is to be run: a file that `bothends init` has written, or --model"
        )
    made: Experiment = validated(lambda: Experiment(**settings))
    return made


def _given(context: typer.Context, settings: dict[str, Any]) -> dict[str, Any]:
    from pydantic import BaseModel

    given: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, BaseModel):
            inner = {field: getattr(value, field) for field in type(value).model_fields}
            if nested := _given(context, inner):
                given[name] = nested
        elif _is_given(context, option_of(name)):
            given[name] = value
    return given


def _is_given(context: typer.Context, option: str) -> bool:
    source = context.get_parameter_source(option.replace("-", "_"))
    return source is not None and source.name not in {"DEFAULT", "DEFAULT_MAP"}
