"""What the controller and the checker are told. A change here changes what is measured."""

from __future__ import annotations

__all__ = [
    "checker_prompt",
    "controller_prompt",
    "correction_prompt",
    "question_prompt",
    "single_prompt",
]

_CONTROLLER = """\
You are a data analyst. You answer a question about a database by writing one {title} query \
and running it.

Take these steps in order, one a reply. Every reply is one tool call and nothing else: no \
explanation. Never skip a step: tables and columns are not called what the question calls them.
1. list_tables, to see which tables exist.
2. get_schema, to see the columns of the tables that you need.
{check}{last}. run_query, to run the query. You can run only one, once: its result is the answer.

The query must only read. Return the columns that the question asks for, in the order it names \
them, and no others. Follow every filter, ordering and limit that the question states.
"""

_CHECK_LINE = "3. check_query, to have the query that you have written looked over.\n"

_CHECKER = """\
Look over this {title} query for common mistakes:
- NOT IN with a subquery that can return NULL
- UNION where UNION ALL is meant
- BETWEEN where one end should be left out
- values of different types compared with one another
- names that should be quoted, or are not spelt as in the schema
- a function called with the wrong number of arguments, or one that {title} does not have
- a cast to the wrong type
- a join on the wrong columns, or one that is missing
- columns in SELECT that are neither grouped nor aggregated

```sql
{sql}
```

If there is a mistake, write the corrected query. If there is none, write the query again \
unchanged. Answer with the query alone, in a ```sql block.
"""

_SINGLE = """\
You are a data analyst. You answer a question about a database by writing one {title} query.

{which}

{schema}

The query must only read. Return the columns that the question asks for, in the order it names \
them, and no others. Follow every filter, ordering and limit that the question states.

Answer with the query alone, in a ```sql block.
"""

_CORRECTION = """\
{title} does not run this query:

{observation}

Write the corrected query. Answer with the query alone, in a ```sql block.
"""


def controller_prompt(title: str, *, check: bool) -> str:
    """Return the system prompt of the controller.

    Args:
        title: The engine's name for people, such as `Spark SQL`.
        check: Whether `check_query` is among its tools.
    """
    return _CONTROLLER.format(
        title=title, check=_CHECK_LINE if check else "", last=4 if check else 3
    )


def question_prompt(question: str) -> str:
    """Return the first message to the controller.

    Args:
        question: The question's text.
    """
    # Small models heed what they read last: without this line they guess names and run at once.
    return f"{question.strip()}\n\nBegin with list_tables."


def checker_prompt(title: str, sql: str) -> str:
    """Return the checker's prompt for a query.

    Args:
        title: The engine's name for people.
        sql: The query to look over.
    """
    return _CHECKER.format(title=title, sql=sql.strip())


def single_prompt(title: str, schema: str, *, shown: int, total: int) -> str:
    """Return the system prompt of a single call, which has no tools.

    Args:
        title: The engine's name for people.
        schema: The tables' DDL and sample rows.
        shown: How many tables these are.
        total: How many the database has.
    """
    which = "These are its tables:"
    if shown < total:
        which = f"It has {total:,} tables. These are the {shown:,} that the question may be about:"
    return _SINGLE.format(title=title, which=which, schema=schema)


def correction_prompt(title: str, observation: str) -> str:
    """Return the message that tells the model what its draft came to.

    Args:
        title: The engine's name for people.
        observation: What `run_query` said of it.
    """
    return _CORRECTION.format(title=title, observation=observation)
