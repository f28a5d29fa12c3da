"""Floor 1: SQL engines behind one interface."""

from __future__ import annotations

from bothends.engines.base import (
    Capability,
    Engine,
    Fingerprint,
    Limits,
    Outcome,
    OutcomeStatus,
)
from bothends.engines.registry import engine_names, open_engine

__all__ = [
    "Capability",
    "Engine",
    "Fingerprint",
    "Limits",
    "Outcome",
    "OutcomeStatus",
    "engine_names",
    "open_engine",
]
