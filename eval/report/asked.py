"""The answer to one question on a terminal: the SQL, the first rows, what each stage took."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from bothends.agent.record import STAGES, Usage
from bothends.eval.ask import Answer
from bothends.eval.report.format import DASH, dollars
from bothends.infra.text import as_cell

__all__ = ["print_answer"]


def print_answer(answer: Answer, console: Console, *, rows: int = 10) -> None:
    """Print an answer.

    Args:
        answer: The answer.
        console: Where to.
        rows: Rows of the result that are shown at most.
    """
    console.print(Text(f"{answer.model}: {answer.model_description}", style="dim"))
    console.print()
    if answer.sql is not None:
        console.print(
            Syntax(answer.sql, "sql", word_wrap=True, background_color="default", theme="ansi_dark")
        )
        console.print()
    if answer.status == "ok":
        _print_rows(answer, console, rows)
    else:
        console.print(Text(f"{answer.status}: {answer.error}", style="red"))
    if answer.verdict is not None:
        right = "right" if answer.verdict.focus else "wrong"
        reason = f": {answer.verdict.reason}" if answer.verdict.reason else ""
        console.print(Text(f"Against gold: {right}{reason}"))
    elif answer.unjudged is not None:
        console.print(Text(f"Against gold: cannot be judged: {answer.unjudged}"))
    console.print()
    console.print(_stage_table(answer))
    cost = answer.cost
    estimated = "; tokens were counted here, not reported" if cost.estimated else ""
    console.print(
        Text(f"LLM: {cost.llm_priced_by}{estimated}. Engine: {cost.engine_priced_by}.", style="dim")
    )


def _print_rows(answer: Answer, console: Console, limit: int) -> None:
    table = Table(box=box.SIMPLE_HEAD)
    for column in answer.columns:
        table.add_column(Text(column))
    for row in answer.rows[:limit]:
        table.add_row(*(Text(as_cell(cell)) for cell in row))
    console.print(table)
    total = answer.row_count or 0
    shown = min(limit, len(answer.rows))
    console.print(
        Text(f"{total:,} row{'' if total == 1 else 's'}" + (f", {shown} shown" * (shown < total)))
    )


def _stage_table(answer: Answer) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_footer=True)
    tokens_in, tokens_out = _tokens(answer.usage)
    table.add_column("stage", footer="total")
    table.add_column("seconds", footer=f"{answer.seconds:.3f}", justify="right")
    table.add_column("tokens in", footer=tokens_in, justify="right")
    table.add_column("tokens out", footer=tokens_out, justify="right")
    table.add_column("cost", footer=dollars(answer.cost.usd), justify="right")
    for stage in STAGES:
        if stage in answer.stages:
            took = answer.stages[stage]
            table.add_row(stage, f"{took.seconds:.3f}", *_tokens(took.usage), dollars(took.usd))
    table.add_row("overhead", f"{answer.overhead_s:.3f}", "", "", "")
    return table


def _tokens(usage: Usage | None) -> tuple[str, str]:
    if usage is None:
        return DASH, DASH
    mark = "~" if usage.estimated else ""
    return tuple(  # type: ignore[return-value]
        DASH if count is None else f"{mark}{count:,}"
        for count in (usage.input_tokens, usage.output_tokens)
    )
