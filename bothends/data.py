"""`bothends data`: makes data, or brings it over, to where engines can read it."""

from __future__ import annotations

import shutil
from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from bothends.tpch_command import tpch

if TYPE_CHECKING:
    from rich.console import Console

    from bothends.eval.gold.entries import GoldEntry
    from bothends.infra.imported import ImportManifest

__all__ = ["data_app"]

_SHOWN = 5

data_app = typer.Typer(
    help="Make data, or bring it over to other engines.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
data_app.command()(tpch)


class Target(StrEnum):
    """An engine that gold is translated for."""

    postgres = "postgres"
    spark = "spark"


class ImportSuite(StrEnum):
    """A suite whose gold is written for SQLite."""

    bird = "bird"


@data_app.command("import")
def import_(
    source: Annotated[
        Path, typer.Argument(metavar="DIR", help="Holds the SQLite databases, and the questions.")
    ],
    engine: Annotated[
        list[Target] | None,
        typer.Option(help="Engine to translate gold for; repeatable. Default: both."),
    ] = None,
    suite: Annotated[
        ImportSuite | None,
        typer.Option(
            help="Suite whose gold is translated. Default with --engine: bird, if DIR is BIRD's."
        ),
    ] = None,
    database: Annotated[
        list[str] | None, typer.Option(help="Database to bring over; repeatable. Default: all.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where to. Default: data/ and the name of DIR.")
    ] = None,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds that one gold query may take on either side.")
    ] = 60.0,
) -> None:
    """Import SQLite databases as Parquet, and translate their gold where it means the same."""
    from rich.console import Console

    from bothends.eval.suites.bird import holds_questions
    from bothends.infra.errors import UsageError
    from bothends.infra.sqlite_import import find_sqlite

    if engine and suite is None and holds_questions(source):
        suite = ImportSuite.bird
    files = find_sqlite(source)
    unknown = [name for name in database or () if name not in files]
    if unknown:
        raise UsageError(
            f"{source} has no database {', '.join(map(repr, unknown))}; "
            f"its databases are: {', '.join(files)}"
        )
    wanted = {name: path for name, path in files.items() if not database or name in database}
    directory = out or Path("data") / (source.resolve().name if source.is_dir() else source.stem)
    console, errors = Console(), Console(stderr=True)
    _print_import(console, directory, _import(errors, wanted, directory))
    for target in (engine or list(Target)) if suite is not None else ():
        entries = _translate(errors, source, wanted, directory, target.value, timeout)
        _print_gold(console, directory, target.value, entries)


def _import(console: Console, files: dict[str, Path], directory: Path) -> dict[str, ImportManifest]:
    from rich.markup import escape

    from bothends.infra.sqlite_import import import_sqlite

    manifests = {}
    with console.status("") as status:
        for name, path in files.items():

            def watch(table: str, done: int, total: int, name: str = name) -> None:
                status.update(escape(f"{name}: {table}, {done:,} of {total:,} rows"))

            manifests[name] = import_sqlite(path, directory / name, watch)
    return manifests


def _translate(
    console: Console,
    source: Path,
    files: dict[str, Path],
    directory: Path,
    target: Literal["postgres", "spark"],
    timeout_s: float,
) -> list[GoldEntry]:
    """Run the gate where its last answer does not hold any more; keep other databases' answers."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from bothends.eval.gold.entries import load_gold, write_gold
    from bothends.eval.gold.gate import Database, is_current, run_gate
    from bothends.eval.gold.questions import bird_questions
    from bothends.eval.suites.bird import question_file

    questions, sha256 = bird_questions(source)
    _copy(question_file(source), directory)
    databases = {name: Database(path, directory / name) for name, path in files.items()}
    known = list(load_gold(directory, target).values())
    asked = [question for question in questions if question.database in databases]
    lost = Counter(each.database for each in questions if not (directory / each.database).exists())
    if lost:
        console.print(
            f"{_count(lost.total(), 'question')} left out, of databases that are not in "
            f"{directory}: {', '.join(lost)}",
            markup=False,
            soft_wrap=True,
        )
    if not is_current(
        known, asked, databases, target, questions_sha256=sha256, timeout_s=timeout_s
    ):
        with Progress(
            TextColumn("gold on {task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        ) as progress:
            task = progress.add_task(target, total=len(asked))
            found = run_gate(
                asked,
                databases,
                target,
                questions_sha256=sha256,
                timeout_s=timeout_s,
                watcher=lambda _: progress.advance(task),
            )
        known = [*(entry for entry in known if entry.database not in databases), *found]
        write_gold(directory, target, known)
    return [entry for entry in known if entry.database in databases]


def _copy(questions: Path, directory: Path) -> None:
    """Put the questions beside the databases: together they are a suite's data directory."""
    from bothends.infra.errors import DataError

    target = directory / questions.name
    if target.exists() and target.samefile(questions):
        return
    scratch = target.with_suffix(".partial")
    try:
        shutil.copyfile(questions, scratch)
        scratch.replace(target)
    except OSError as error:
        raise DataError(
            f"{target} cannot be written ({error.strerror or error}); name another directory with "
            "--out"
        ) from error


def _print_import(console: Console, directory: Path, manifests: dict[str, ImportManifest]) -> None:
    from rich.markup import escape

    tables = [table for manifest in manifests.values() for table in manifest.tables.values()]
    rows = sum(table.rows for table in tables)
    console.print(
        f"{escape(str(directory))}: {_count(len(manifests), 'database')}, "
        f"{_count(len(tables), 'table')}, {_count(rows, 'row')}",
        soft_wrap=True,
    )
    for name, manifest in manifests.items():
        for misfit in manifest.misfits:
            what = f"{name}.{misfit.table}" + (f".{misfit.column}" if misfit.column else "")
            examples = f", such as {'; '.join(misfit.examples)}" if misfit.examples else ""
            count = f" ({misfit.count:,} do not fit{examples})" if misfit.count else ""
            console.print(
                escape(f"  {what}, {misfit.declared or 'no type'}: {misfit.became}{count}"),
                soft_wrap=True,
            )


def _print_gold(console: Console, directory: Path, target: str, entries: list[GoldEntry]) -> None:
    from rich.markup import escape

    from bothends.eval.gold.entries import gold_file

    excluded = [entry for entry in entries if entry.status == "excluded"]
    admitted = len(entries) - len(excluded)
    share = f" ({admitted / len(entries):.1%})" if entries else ""
    console.print(f"{target}: {admitted} of {len(entries)} admitted{share}", soft_wrap=True)
    for cause, count in Counter(entry.cause or "" for entry in excluded).most_common():
        console.print(f"  {count} excluded: {_CAUSES[cause]}", soft_wrap=True)
    for entry in excluded[:_SHOWN]:
        console.print(
            escape(f"    {entry.question_id} ({entry.database}): {entry.reason}"), soft_wrap=True
        )
    if len(excluded) > _SHOWN:
        console.print(f"    and {len(excluded) - _SHOWN} more", soft_wrap=True)
    console.print(f"  all in {escape(str(gold_file(directory, target)))}", soft_wrap=True)
    console.print(
        f"  next: --suite bird --engine {target} --data {escape(str(directory))}", soft_wrap=True
    )


_CAUSES = {
    "gold_failed": "gold fails on SQLite itself",
    "chance": "gold has several right answers",
    "untranslatable": "no rule says it on this engine",
    "failed": "this engine refuses it",
    "timeout": "it takes too long",
    "changed": "it returns something else on this engine",
}


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
