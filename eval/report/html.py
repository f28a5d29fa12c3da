"""The report as one HTML file that opens anywhere, offline, and asks the network for nothing."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib import resources
from pathlib import Path

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from bothends.eval.report.accuracy import accuracy_charts
from bothends.eval.report.answer import headline
from bothends.eval.report.caveats import caveats
from bothends.eval.report.certainty import verdict_on_difference
from bothends.eval.report.chart import scatter
from bothends.eval.report.embed import embedded
from bothends.eval.report.format import DASH
from bothends.eval.report.points import points, signed
from bothends.eval.report.scales import scale_figures
from bothends.eval.report.source import ReportInput, groups
from bothends.eval.report.table import MARKS, Table
from bothends.eval.report.tables import all_tables
from bothends.eval.report.terms import scale_words, terms
from bothends.infra.errors import RecordError

__all__ = ["PAGE_BYTES", "render_html", "write_html"]

PAGE_BYTES = 5_900_000
"""How large the page may grow: details of trials are left out, and said to be, beyond it."""
LONG_TABLE_ROWS = 120
"""A longer table is drawn by the page's script, the rows that are in view."""
CHARTS = ((640, 420), (360, 330))
STYLES = ("base.css", "chart.css", "tables.css", "trials.css", "trial.css")
SCRIPTS = (
    "core.js",
    "data.js",
    "tips.js",
    "grid.js",
    "tables.js",
    "sqldiff.js",
    "rowdiff.js",
    "trial.js",
    "trials.js",
)


def write_html(source: ReportInput, path: Path, *, page_bytes: int = PAGE_BYTES) -> Path:
    """Write the report; the same content gives the same bytes.

    Args:
        source: The run, or several.
        path: The file to write.
        page_bytes: How large the page may grow, in bytes.

    Returns:
        The file.

    Raises:
        RecordError: If it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(render_html(source, page_bytes=page_bytes))
    except OSError as error:
        raise RecordError(f"{path} cannot be written: {error.strerror}") from None
    return path


def render_html(
    source: ReportInput, *, page_bytes: int = PAGE_BYTES, version: str | None = None
) -> bytes:
    """Return the report's page.

    Args:
        source: The run, or several.
        page_bytes: How large the page may grow, in bytes.
        version: Of a page that `bothends view` serves: the page asks that server, and no other,
            whether there is a later one. None for a page that asks nobody for anything.
    """
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    # One function around all of it: the files share names, the page's globals stay clean.
    parts = "".join(map(_file, SCRIPTS)) + "start();\n" + (_file("live.js") if version else "")
    script = f'"use strict";\n(() => {{\n{parts}}})();\n'
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    found, placed = groups(source), points(source)
    shown = all_tables(source)
    first, *others = headline(source)
    told = verdict_on_difference(source)
    page = environment.from_string(_file("report.html")).render(
        source=source,
        version=version,
        scale=scale_words(source),
        first=first,
        others=[*others, *([told] if told else [])],
        caveats=caveats(source),
        terms=terms(source),
        tables=shown,
        long={table.name for table in shown if len(table.rows) > LONG_TABLE_ROWS},
        marks=MARKS,
        dash=DASH,
        charts=[Markup(scatter(placed, *size)) for size in CHARTS]  # noqa: S704
        if placed
        else [],
        # The charts escape their words themselves.
        scales=[
            (each, Markup(each.wide), Markup(each.narrow))  # noqa: S704
            for each in scale_figures(source)
        ],
        accuracy=[Markup(chart) for chart in accuracy_charts(source)],  # noqa: S704
        front=any(point.front for point in placed),
        unplaced=[signed(group) for group in found if group.summary.cvq.mean is None],
        style=Markup("".join(map(_file, STYLES))),  # noqa: S704
        script=Markup(script),  # noqa: S704
        script_digest=digest,
        long_tables=Markup(  # noqa: S704
            _json([_long(table) for table in shown if len(table.rows) > LONG_TABLE_ROWS])
        ),
    )
    # What is left of the page's bytes is for the trials.
    data = _json(embedded(source, page_bytes - len(page.encode("utf-8", "replace"))))
    # A model can write half a surrogate pair, which UTF-8 cannot hold.
    return page.replace(DATA_PLACE, data, 1).encode("utf-8", "replace")


DATA_PLACE = "<!--data-->"
"""Where the data goes: no text of a run can read so, since each is escaped."""


def _long(table: Table) -> dict[str, object]:
    return {
        "name": table.name,
        "identifies": sum(column.identifies for column in table.columns),
        "columns": [
            {
                "key": column.key,
                "heading": column.heading,
                "unit": column.unit,
                "help": column.help,
                "align": column.align,
            }
            for column in table.columns
        ],
        "rows": [
            [
                [cell.value, column.text(cell), "".join(MARKS[mark][0] for mark in cell.marks)]
                for column, cell in zip(table.columns, row, strict=True)
            ]
            for row in table.rows
        ],
    }


def _file(name: str) -> str:
    page = resources.files("bothends.eval.report").joinpath("page")
    return page.joinpath(name).read_text(encoding="utf-8")


def _json(data: object) -> str:
    """Return JSON that can stand in a script element: no text of it can close the element."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
