"""Finding the SQL in what models really write."""

from __future__ import annotations

import pytest

from bothends.agent.extract import extract_sql


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("```sql\nSELECT 1;\n```", "SELECT 1"),
        ("```\nSELECT 1\n```", "SELECT 1"),
        ("First:\n```sql\nSELECT 1\n```\nBetter:\n```sql\nSELECT 2\n```", "SELECT 2"),
        ("```python\nprint('select 1')\n```", None),
        ("```sql\n-- note\nSELECT 1\n```", "-- note\nSELECT 1"),
        ("```sql\n(SELECT 1) UNION (SELECT 2)\n```", "(SELECT 1) UNION (SELECT 2)"),
        ("The query is:\nSELECT a\nFROM t;\nIt works.", "SELECT a\nFROM t"),
        ("with x as (select 1) select * from x", "with x as (select 1) select * from x"),
        ("I would select the rows with the largest price.", None),
        ("There is no query here.", None),
        ("", None),
    ],
)
def test_extract_sql(text: str, sql: str | None) -> None:
    assert extract_sql(text) == sql
