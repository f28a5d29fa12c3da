"""The terms of an experiment as a report states them."""

from __future__ import annotations

from bothends.eval.report.format import DASH
from bothends.eval.report.source import ReportInput
from bothends.eval.report.words import plural

__all__ = ["scale_words", "terms"]


def terms(source: ReportInput) -> list[tuple[str, str]]:
    """Return the terms that a reader needs to judge the figures, each with its name."""
    scale = scale_words(source)
    versions = ", ".join(f"{name} {version}" for name, version in source.versions.items())
    questions = plural(len(source.questions), "question")
    stated = [
        ("Suite", source.suite),
        ("Engine", source.engine),
        ("Scale", scale),
        ("Asked", f"{questions}, {plural(source.replicas, 'replica')} each"),
        ("Priced as", source.machine),
        ("Billing", source.billing),
        ("Prices", source.prices),
        ("Recipe", source.recipe),
        ("Timing", source.regimen),
        ("Hardware", source.hardware),
        ("Ran", f"{_minute(source.started)} to {_minute(source.finished)}"),
        ("Versions", versions),
    ]
    return [(name, text) for name, text in stated if text]


def scale_words(source: ReportInput) -> str:
    """Return the scale factors as they are read: `SF 0.01, 1`; nothing where there are none."""
    factors = ", ".join(f"{factor:g}" for factor in source.scale_factors)
    return f"SF {factors}" if factors else ""


def _minute(moment: str | None) -> str:
    """Return an ISO moment to the minute, as it is read."""
    return DASH if moment is None else moment[:16].replace("T", " ")
