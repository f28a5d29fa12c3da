"""The progress of a run on a terminal: a bar with the cost so far, or plain lines in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.prompt import Confirm

from bothends.eval.budget import Forecast, paid_usd
from bothends.eval.manifest import Manifest, ModelTerms
from bothends.eval.record import Trial
from bothends.infra.text import as_cell

__all__ = ["RunProgress"]


class RunProgress:
    """Shows how a run goes. A context manager, and a watcher of the runner.

    Args:
        console: Where to.
        ask: Whether a person at the terminal is asked before money is spent.

    Attributes:
        stopped_early: Why the run ended before all trials were run; None where it did not.
    """

    def __init__(self, console: Console, *, ask: bool = False) -> None:
        self._console = console
        self._ask = ask and console.is_terminal and sys.stdin.isatty()
        self._hosted = False
        self._introduced: tuple[ModelTerms, ...] = ()
        self._started_s = time.monotonic()
        self._before_usd = 0.0
        self.stopped_early: str | None = None
        self._live = console.is_terminal
        self._cost_usd = 0.0
        self._unpriced = 0
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            # The total is not known at first, and a number's format takes no None.
            TextColumn("{task.completed:,.0f}/{task.fields[of]} trials"),
            TextColumn("{task.fields[cost]}"),
            TimeRemainingColumn(elapsed_when_finished=True),
            console=console,
            transient=True,
            disable=not self._live,
        )
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        """Start showing."""
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Take the bar away."""
        self._bar.stop()

    def phase(self, text: str) -> None:
        """Show what is done now."""
        if self._live:
            if self._task is None:
                self._task = self._bar.add_task("", total=None, of="?", cost="")
            self._bar.update(self._task, description=escape(text))
        elif self._task is None:
            self._console.print(escape(text))

    def begin(self, manifest: Manifest, done: Sequence[Trial], total: int) -> None:
        """Say what each model is, and what was there already."""
        if manifest.models != self._introduced:
            print_models(self._console, manifest)
            self._introduced = manifest.models
        self._hosted = any(model.kind == "hosted" for model in manifest.models)
        if done:
            self._console.print(
                f"{len(done)} of {total} trials are already in {escape(manifest.name)}"
            )
        for trial in done:
            self._count(trial)
        self._before_usd, self._started_s = self._cost_usd, time.monotonic()
        if self._task is None:
            self._task = self._bar.add_task("", total=total, of="?", cost="")
        self._bar.update(
            self._task, total=total, completed=len(done), of=f"{total:,}", cost=self._cost()
        )

    def go_on(self, forecast: Forecast) -> bool:
        """Say what is left to be run and what it will cost, and ask where somebody is there."""
        ahead = forecast.ahead
        if ahead is None or not forecast.spent.usd:
            return True
        self._console.print(
            f"{forecast.trials} {'trial is' if forecast.trials == 1 else 'trials are'} left: "
            f"about ${ahead.usd:.4f} and {ahead.tokens:,.0f} "
            "tokens, by the mean of those recorded"
        )
        if not (self._ask and self._hosted):
            return True
        self._bar.stop()
        go_on = Confirm.ask("Go on?", console=self._console, default=True)
        self._bar.start()
        if not go_on:
            self.stopped_early = "stopped before the trials that are left"
        return go_on

    def stopped(self, why: str) -> None:
        """Keep why the run ended early."""
        self.stopped_early = why

    def trial(self, trial: Trial) -> None:
        """Move on by one trial."""
        self._count(trial)
        if self._task is not None:
            self._bar.update(self._task, advance=1, cost=self._cost())
        if not self._live:
            self._console.print(
                f"{escape(trial.model_label)}, question {escape(trial.key.question_id)}: "
                f"{escape(_said(trial))}, {trial.e2e_s:.2f} s; {self._cost()}",
                soft_wrap=True,
            )

    def _count(self, trial: Trial) -> None:
        usd = paid_usd(trial)
        if usd is None:
            self._unpriced += 1
        else:
            self._cost_usd += usd

    def _cost(self) -> str:
        unpriced = f" + {self._unpriced} unpriced" if self._unpriced else ""
        hours = (time.monotonic() - self._started_s) / 3600
        spent_usd = self._cost_usd - self._before_usd
        rate = f", ${spent_usd / hours:.2f}/h" if self._live and spent_usd and hours else ""
        return f"${self._cost_usd:.4f} so far{unpriced}{rate}"


def print_models(console: Console, manifest: Manifest) -> None:
    """Say plainly what each model is and what it is priced by."""
    for model in manifest.models:
        console.print(
            f"  [bold]{escape(model.label)}[/bold]: {escape(model.description)}", soft_wrap=True
        )
    console.print(f"  engine priced as {escape(manifest.machine)}\n", soft_wrap=True)


def _said(trial: Trial) -> str:
    if trial.verdict is None:
        return f"{trial.status} ({as_cell(trial.error)})" if trial.error else trial.status
    return "valid" if trial.verdict.focus else f"wrong (class {trial.verdict.error_class})"
