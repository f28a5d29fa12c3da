"""A query in a driver's own session: its rows as they come to the driver, as Arrow's batches."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bothends.engines.base import Limits, Outcome
from bothends.engines.kept import Kept
from bothends.engines.spark_query import keep, outcome_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["fetch_here"]


def fetch_here(session: Any, sql: str, limits: Limits) -> Outcome:
    """Run a query by a classic session and receive its rows.

    Spark sends the batches as partitions end, and their order last of all. So those that come are
    held, as Arrow has them, up to the bytes that may be kept; of the others only the number of
    rows is.

    Args:
        session: A classic `SparkSession`.
        sql: The query.
        limits: What is kept of it.

    Raises:
        PySparkException: If Spark refuses the query or it breaks.
        py4j.protocol.Py4JError: As that, or if the driver is gone.
        ValueError: If the result holds a value that Python cannot.
        OSError: If the driver is gone.
    """
    import pyarrow as pa

    start = time.perf_counter()
    frame = session.sql(sql)
    schema = frame.schema
    came: list[pa.RecordBatch | int] = []
    held_bytes = 0
    # What `toArrow` of Spark 4, and `toPandas` of all, are made of.
    port, secret, server = frame._jdf.collectAsArrowToPython()
    file, link = _connect()(port, secret)
    link.settimeout(None)  # it has one of seconds, for connecting; a query may take hours
    try:
        with file, link:
            for batch in pa.ipc.open_stream(file):
                held_bytes += batch.nbytes
                came.append(batch if held_bytes <= limits.max_bytes else batch.num_rows)
            (number,) = struct.unpack("!i", file.read(4))
            # Less than none where it broke: the server knows why.
            order = struct.unpack(f"!{max(0, number)}i", file.read(4 * max(0, number)))
    finally:
        server.getResult()
    if number < 0:
        raise ValueError("the query broke, and Spark does not say why")
    kept = Kept(limits)
    for place in order:
        part = came[place]
        if isinstance(part, int):
            kept.skip(part)
        else:
            keep(kept, pa.Table.from_batches([part]))
    return outcome_of(schema, kept, time.perf_counter() - start)


def _connect() -> Callable[[Any, Any], Any]:
    """Return what connects to the socket on which a result is served."""
    import pyspark.java_gateway
    import pyspark.util

    # In Spark 3.5 it is in the one, in later ones in the other.
    found = getattr(pyspark.util, "local_connect_and_auth", None)
    connect: Callable[[Any, Any], Any] = (
        found or vars(pyspark.java_gateway)["local_connect_and_auth"]
    )
    return connect
