"""What a query may not call or read, by dialect."""

from __future__ import annotations

import re
from typing import Final

__all__ = [
    "HARMLESS_PRAGMAS",
    "denied_column",
    "denied_function",
    "denied_relation",
    "names_a_file",
    "replaced_text",
]

# The only pragmas that may be read as tables: they describe the schema and change nothing.
HARMLESS_PRAGMAS: Final = frozenset(
    {
        *("foreign_key_list", "index_info", "index_list", "index_xinfo"),
        *("table_info", "table_list", "table_xinfo"),
    }
)

# Allowed by name out of families that are otherwise denied whole.
_ALLOWED: Final = {
    "sqlite": frozenset({f"pragma_{name}" for name in HARMLESS_PRAGMAS})
    | {"sqlite_compileoption_get", "sqlite_compileoption_used", "sqlite_source_id"}
    | {"sqlite_version"},
    "postgres": frozenset(
        {
            *("pg_collation_for", "pg_column_compression", "pg_column_size", "pg_database_size"),
            *("pg_encoding_to_char", "pg_get_constraintdef", "pg_get_expr", "pg_get_indexdef"),
            *("pg_get_keywords", "pg_get_serial_sequence", "pg_get_userbyid", "pg_get_viewdef"),
            *("pg_input_is_valid", "pg_indexes_size", "pg_relation_size", "pg_size_bytes"),
            *("pg_size_pretty", "pg_table_is_visible", "pg_table_size", "pg_total_relation_size"),
            *("pg_type_is_visible", "pg_typeof"),
        }
    ),
    "spark": frozenset[str](),
}
_DENIED: Final = {
    "sqlite": re.compile(
        # Functions of the sqlite3 shell and of common extensions that touch files or run SQL.
        "edit|eval|fileio_.*|fsdir|fts3_tokenizer|icu_load_collation|load_extension|readfile|"
        "sha1_query|sha3_query|writefile|zipfile|"
        # sqlite_log writes to the log; pragma_... runs a pragma.
        "sqlite_.*|sqlar_.*|pragma_.*"
    ),
    "postgres": re.compile(
        # Files, sessions, locks, replication, sleeping, large objects.
        "pg_.*|lo_.*|loread|lowrite|binary_upgrade_.*|brin_.*summarize.*|gin_clean_pending_list|"
        # State that outlives the query.
        "currtid.*|nextval|set_config|setseed|setval|txid_.*|uuid_generate_.*|"
        # SQL that is given as text.
        "connectby|crosstab.*|cursor_to_xml.*|database_to_xml.*|query_to_xml.*|schema_to_xml.*|"
        "table_to_xml.*|ts_rewrite|ts_stat|xpath_table|"
        # Other servers, programs, jobs.
        "aws_.*|dblink.*|file_fdw.*|http|http_.*|plpgsql_.*|postgres_fdw_.*"
    ),
    "spark": re.compile(
        # Java by name, files by path, other services, and names that are computed.
        "ai_.*|cloud_files|event_log|from_avro|from_protobuf|http_request|identifier|java_method|"
        "list_secrets|read_.*|reflect|remote_query|schema_of_avro|secret|to_protobuf|try_reflect|"
        "try_secret|vector_search"
    ),
}
# Relations that hold what is no business of a query: passwords, other users' objects, files.
_DENIED_RELATION: Final = {
    # A function that returns a table is one even without parentheses.
    "sqlite": re.compile("fileio_.*|fsdir|sqlite_db(data|page|ptr)|zipfile"),
    "postgres": re.compile(
        "pg_authid|pg_backend_memory_contexts|pg_file_settings|pg_hba_file_rules|"
        "pg_ident_file_mappings|pg_largeobject|pg_shadow|pg_subscription|pg_user_mappings?"
    ),
    "spark": re.compile(r"(?!)"),
}
# In Spark, a relation `format`.`path` is a file; these formats come with Spark or are common.
_FILE_FORMAT: Final = re.compile(
    "avro|binaryfile|console|csv|delta|excel|hive|hudi|iceberg|image|jdbc|json|kafka|libsvm|"
    "memory|mongodb|noop|orc|parquet|rate|rate-micro-batch|sequencefile|socket|state-metadata|"
    "statestore|text|xml",
    re.IGNORECASE,
)
# PostgreSQL reads x.f and (x).f as f(x) where x has no such column. These take one argument; what
# is a likely name of a column (lo_revenue, aws_region, http_status) is left out.
_DENIED_COLUMN: Final = re.compile(
    "pg_.*|lo_(close|creat|create|get|import|tell|tell64|unlink)|nextval|setseed|ts_stat|"
    "crosstab.*|dblink.*|http_(delete|get|head)"
)
# What Spark replaces with a setting or a variable of its process, in strings and comments as well,
# before it reads the statement.
_REPLACED: Final = re.compile(r"\$\{\S+?\}")
_PLAIN: Final = re.compile(r"[\w $#-]+")


def denied_function(name: str, dialect: str) -> bool:
    """Whether a query may not call a function.

    Args:
        name: Its name, without a schema; case does not count.
        dialect: `sqlite`, `postgres` or `spark`.
    """
    name = name.lower()
    return name not in _ALLOWED[dialect] and _DENIED[dialect].fullmatch(name) is not None


def denied_relation(name: str, dialect: str) -> bool:
    """Whether a query may not read a table or view, whatever its schema."""
    if dialect == "sqlite" and name.lower().startswith("pragma_"):
        return name.lower() not in _ALLOWED[dialect]
    return _DENIED_RELATION[dialect].fullmatch(name.lower()) is not None


def denied_column(name: str, dialect: str) -> bool:
    """Whether a qualified name may not end like this, because that would call a function.

    Args:
        name: What follows the last dot, unquoted; case does not count.
        dialect: `sqlite`, `postgres` or `spark`; only PostgreSQL has such calls.
    """
    name = name.lower()
    return (
        dialect == "postgres"
        and name not in _ALLOWED[dialect]
        and _DENIED_COLUMN.fullmatch(name) is not None
    )


def replaced_text(sql: str, dialect: str) -> str | None:
    """Return a piece of a statement that an engine would replace before reading it, if any."""
    match = _REPLACED.search(sql) if dialect == "spark" else None
    return match and match[0]


def names_a_file(parts: tuple[str, ...], dialect: str) -> bool:
    """Whether a qualified name is a file by its path.

    Only Spark has such: `format`.`path`, where the format may also be the name of a Java class.

    Args:
        parts: The parts of the name, unquoted.
        dialect: `sqlite`, `postgres` or `spark`.
    """
    if dialect != "spark" or len(parts) < 2:
        return False
    return (
        len(parts) > 3
        or any(_FILE_FORMAT.fullmatch(part) for part in parts[:-1])
        or not all(_PLAIN.fullmatch(part) for part in parts)
    )
