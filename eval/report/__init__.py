"""Reports: pure functions from a run's content to tables, and from tables to what is read.

`answer` says it in words, `tables` builds the tables, `print_report` shows both in a terminal, and
`write_files` writes every other form.
"""

from bothends.eval.report.answer import answer
from bothends.eval.report.csv import write_csv
from bothends.eval.report.figures import write_figures
from bothends.eval.report.files import write_files
from bothends.eval.report.html import write_html
from bothends.eval.report.markdown import write_markdown
from bothends.eval.report.parquet import write_parquet
from bothends.eval.report.source import ReportInput
from bothends.eval.report.table import Cell, Column, Table
from bothends.eval.report.tables import tables
from bothends.eval.report.terminal import print_report

__all__ = [
    "Cell",
    "Column",
    "ReportInput",
    "Table",
    "answer",
    "print_report",
    "tables",
    "write_csv",
    "write_figures",
    "write_files",
    "write_html",
    "write_markdown",
    "write_parquet",
]
