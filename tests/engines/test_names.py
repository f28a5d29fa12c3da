"""What tables are called, and how they are found again."""

from __future__ import annotations

import pytest

from bothends.engines.names import TableName, TableNames
from bothends.infra.errors import AmbiguousTableError, UnknownTableError

TABLES = (
    TableName("main", "order", bare=True),
    TableName("main", "Item", bare=True),
    TableName("main", "a.b", bare=True),
    TableName("main", 'q"t', bare=True),
    TableName("main", "two words", bare=True),
    TableName("main", "2024", bare=True),
    TableName("Sales", "order", bare=False),
    TableName("Sales", "event", bare=False),
    TableName("web", "event", bare=False),
    TableName("web", "Visit", bare=False),
)


def names(dialect: str = "sqlite", tables: tuple[TableName, ...] = TABLES) -> TableNames:
    return TableNames(dialect, lambda: tables)


def test_names_are_quoted_where_they_must() -> None:
    assert tuple(names().all()) == (
        *('"2024"', '"a.b"', '"q""t"', '"two words"'),
        *("Item", "Sales.event", "Sales.order", "order", "web.Visit", "web.event"),
    )
    assert tuple(names("postgres").all()) == (
        *('"2024"', '"Item"', '"Sales".event', '"Sales".order', '"a.b"', '"q""t"', '"two words"'),
        *("order", 'web."Visit"', "web.event"),
    )
    assert tuple(names("spark").all()) == (
        *("Item", "Sales.event", "Sales.order", "`2024`", "`a.b`", '`q"t`', "`two words`"),
        *("order", "web.Visit", "web.event"),
    )


@pytest.mark.parametrize("dialect", ["sqlite", "postgres", "spark"])
def test_every_name_is_found_as_it_is_shown(dialect: str) -> None:
    known = names(dialect)
    for shown, table in known.all().items():
        assert known.find(shown) == table


@pytest.mark.parametrize(
    ("asked", "schema", "name"),
    [
        ("ITEM", "main", "Item"),
        ("main.item", "main", "Item"),
        ("`item`", "main", "Item"),
        ("[two words]", "main", "two words"),
        ("two words", "main", "two words"),
        ("a.b", "main", "a.b"),
        ('"q""t"', "main", 'q"t'),
        ("order", "main", "order"),
        ('sales."order"', "Sales", "order"),
        (' "SALES" . [order] ', "Sales", "order"),
        ("visit", "web", "Visit"),
    ],
)
def test_a_name_is_found_in_other_spellings(asked: str, schema: str, name: str) -> None:
    found = names().find(asked)
    assert (found.schema, found.name) == (schema, name)


def test_the_spelling_counts_where_only_case_differs() -> None:
    tables = tuple(TableName("public", name, bare=True) for name in ("Person", "person", "PERSON"))
    known = names("postgres", tables)
    assert known.find("PERSON").name == "PERSON"
    assert known.find("Person").name == "Person"
    assert known.find("pErSoN").name == "person"


def test_a_name_in_several_schemas_is_asked_back() -> None:
    with pytest.raises(AmbiguousTableError) as caught:
        names().find("event")
    assert str(caught.value) == "table 'event' is ambiguous: write one of Sales.event, web.event"


def test_a_small_catalog_is_named_whole() -> None:
    with pytest.raises(UnknownTableError) as caught:
        names("sqlite", TABLES[:2]).find("nope; DROP TABLE order")
    assert str(caught.value) == (
        "table 'nope; DROP TABLE order' does not exist; the tables are: Item, order"
    )
    with pytest.raises(UnknownTableError, match="the catalog is empty"):
        names("sqlite", ()).find("t")


def test_of_a_large_catalog_the_nearest_are_named() -> None:
    tables = [TableName("s", f"t{number:05d}", bare=False) for number in range(2000)]
    tables += [TableName("s", name, bare=False) for name in ("customers", "old_customer_list")]
    with pytest.raises(UnknownTableError) as caught:
        names("postgres", tuple(tables)).find("customer")
    assert str(caught.value) == (
        "table 'customer' does not exist; there are 2,002 tables, such as s.customers, "
        "s.old_customer_list, and 2,000 more"
    )
    with pytest.raises(UnknownTableError) as caught:
        names("postgres", tuple(tables)).find("x" * 100_000)
    assert str(caught.value).count("s.") == 20
    assert len(str(caught.value)) < 1_000


def test_the_catalog_is_read_again_only_for_a_name_that_is_not_known() -> None:
    tables = [TableName("main", "a", bare=True)]
    read = []

    def catalog() -> list[TableName]:
        read.append(len(tables))
        return list(tables)

    known = TableNames("sqlite", catalog)
    for _ in range(3):
        known.find("a")
    assert read == [1]
    tables.append(TableName("main", "b", bare=True))
    assert known.find("b").name == "b"
    assert read == [1, 2]
