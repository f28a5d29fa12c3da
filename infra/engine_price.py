"""What the engine's work costs: by the hour of what it runs on, or by what its queries scan."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["EnginePrice", "Machine", "ScanPrice"]

_MB = 1024**2
_MB_PER_TB = 1024**2


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine, or a cluster of them, with its price.

    Attributes:
        name: Its type's name, such as `m7i.xlarge`.
        usd_per_hour: What an hour of it costs.
        source: Where the price comes from, in words.
    """

    name: str
    usd_per_hour: float
    source: str

    @property
    def usd_per_s(self) -> float:
        """What a second of it costs."""
        return self.usd_per_hour / 3600

    def describe(self) -> str:
        """Return its name and price, as in `m7i.xlarge at $0.2016/h`."""
        return f"{self.name} at ${self.usd_per_hour:.10g}/h"


@dataclass(frozen=True, slots=True)
class ScanPrice:
    """An engine that is paid for what its queries scan, and not for time, as Amazon Athena is.

    Attributes:
        name: Its name.
        usd_per_tb: What a terabyte costs, 1024 ** 4 bytes.
        least_mb: Megabytes that each query is charged for at least, 1024 ** 2 bytes each.
        source: Where the price comes from, in words.
    """

    name: str
    usd_per_tb: float
    least_mb: int
    source: str

    def query_usd(self, scanned_bytes: int | None) -> float | None:
        """Return what one query costs, in whole megabytes; None where its bytes are not known."""
        if scanned_bytes is None:
            return None
        return self.usd_per_tb * max(self.least_mb, math.ceil(scanned_bytes / _MB)) / _MB_PER_TB

    def describe(self) -> str:
        """Return its name and price, as in `scan:5 at $5 per TB scanned`."""
        least = f", {self.least_mb} MB a query at least" if self.least_mb else ""
        return f"{self.name} at ${self.usd_per_tb:.10g} per TB scanned{least}"


EnginePrice = Machine | ScanPrice
