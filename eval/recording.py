"""Recording a run: one file for each controller, with what its checker was asked."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bothends.eval.manifest import Manifest
from bothends.infra.errors import UsageError

if TYPE_CHECKING:
    from langchain_core.callbacks import BaseCallbackHandler

    from bothends.agent.models.base import Case, Model

    HandlersFor = Callable[[Model, Case], Sequence[BaseCallbackHandler]]

__all__ = ["recording", "recording_files"]


@contextlib.contextmanager
def recording(
    path: Path | None,
    models: Sequence[Model],
    checker: Model | None,
    manifest: Manifest,
    engine: str,
    *,
    served_by: str = "",
    append: bool = False,
) -> Iterator[HandlersFor]:
    """Give each trial the callback handlers that record its models' replies, if any are to.

    Args:
        path: The file, or the directory where there are several controllers; None for none.
        models: The controllers.
        checker: The checker, where it is a model of its own.
        manifest: The run; it goes on with its own recording where it was stopped.
        engine: The engine's name.
        served_by: What serves the controller, in words.
        append: Whether another run's recording is added to.

    Raises:
        ReplayError: If a file is there that is not to be added to.
        UsageError: If the path cannot hold the recordings.
    """
    if path is None:
        yield lambda _model, _case: ()
        return
    from bothends.agent.models.recording_writer import RecordingWriter, make_header

    experiment = manifest.experiment
    with contextlib.ExitStack() as stack:
        writers = {}
        for model, file in zip(models, recording_files(path, models), strict=True):
            header = make_header(
                model,
                suite=experiment.suite,
                engine=engine,
                scale_factor=experiment.scale_factor,
                recipe=experiment.recipe.name,
                checker=checker,
                run=f"{manifest.name} of {manifest.created_at}",
                server=served_by,
            )
            writers[model.spec] = stack.enter_context(RecordingWriter(file, header, append=append))
        yield lambda model, case: (writers[model.spec].handler(case),)


def recording_files(path: Path, models: Sequence[Model]) -> list[Path]:
    """Return the file of each controller's recording: the path, or files below it by their labels.

    Raises:
        UsageError: If one is a directory, or several are to go into a file.
    """
    if len(models) == 1:
        if path.is_dir():
            raise UsageError(f"--record {path} is a directory: name a file, such as {path}/a.jsonl")
        return [path]
    if path.is_file():
        raise UsageError(
            f"--record {path} is a file, and {len(models)} models are recorded, each in a file of "
            "its own: name a directory"
        )
    names: list[str] = []
    for model in models:
        name = re.sub(r"[^\w.=-]+", "-", model.label).strip("-.") or "model"
        same = sum(each.partition("~")[0] == name for each in names)
        names.append(f"{name}~{same + 1}" if same else name)
    return [path / f"{name}.jsonl" for name in names]
