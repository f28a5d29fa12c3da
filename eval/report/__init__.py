"""Reports: pure functions from a run's content to tables, and from tables to what is read.

`answer` says it in words, `tables` builds the tables, and `print_report`, `write_csv` and
`write_html` show both.
"""

from bothends.eval.report.answer import answer
from bothends.eval.report.csv import write_csv
from bothends.eval.report.html import write_html
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
    "write_html",
]
