"""What a job's script imports on a cluster: this package and a few others, in one zip."""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from bothends.infra.errors import EngineError
from bothends.infra.system import bothends_version

__all__ = ["Bundle"]

_FOLDERS: Final = ("agent", "engines", "eval", "infra", "tools")
# All that `job_work` imports, with what these import themselves.
_PACKAGES: Final = (
    *("annotated-types", "pydantic", "pydantic-core", "typing-extensions", "typing-inspection"),
    *("pyarrow", "sqlglot"),
)
# What is not code, or of Arrow's clients and headers: two thirds of all bytes.
_LEFT_OUT: Final = re.compile(
    r"\.\./|.*__pycache__/|.*\.(?:pyc|pyx|pxd|pxi|pyi)$|.*\.dist-info/(?!METADATA$)"
    r"|pyarrow/(?:tests|include|src)/|pyarrow/(?:lib)?(?:arrow_s3|arrow_flight|_flight|_s3fs)"
)
_NEWEST_GLIBC: Final = 34  # Amazon Linux 2023, below EMR 7, has 2.34
_OLDEST_GLIBC: Final = 17
_DATE: Final = (1980, 1, 1, 0, 0, 0)
_PIP_TIMEOUT_S: Final = 600.0


class Bundle:
    """The files of a bundle; the same files always make the same zip, to the last byte.

    Attributes:
        files: The path of each on this machine, by its name in the zip.
    """

    def __init__(self, target: tuple[str, str] | None = None) -> None:
        """Gather the files.

        Where a cluster has the Python and processor of this machine, its packages are taken from
        here. Otherwise pip downloads the same versions for it, once.

        Args:
            target: The cluster's Python and processor, such as `("3.11", "x86_64")`; None where it
                is this machine.

        Raises:
            EngineError: If the packages cannot be had.
        """
        files = dict(_ours())
        if target is None or _is_here(target):
            files |= _installed()
        else:
            files |= _downloaded(target)
        self.files: Mapping[str, Path] = dict(sorted(files.items()))

    @cached_property
    def name(self) -> str:
        """What it is called: the digest of all of it."""
        digest = hashlib.sha256(bothends_version().encode())
        for name, path in self.files.items():
            with path.open("rb") as opened:
                content = hashlib.file_digest(opened, "sha256").hexdigest()
            digest.update(f"{content}  {name}\n".encode())
        return f"code/{digest.hexdigest()[:32]}.zip"

    def content(self) -> bytes:
        """Return the zip."""
        made = io.BytesIO()
        version = bothends_version()
        about = f"Metadata-Version: 2.1\nName: bothends\nVersion: {version}\n".encode()
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            archive.writestr(_entry(f"bothends-{version}.dist-info/METADATA"), about)
            for name, path in self.files.items():
                archive.writestr(_entry(name), path.read_bytes())
        return made.getvalue()


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _DATE)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    return entry


def _ours() -> Iterator[tuple[str, Path]]:
    """Yield our own files: code, and the tables that it reads."""
    yield "bothends/__init__.py", _folder("bothends") / "__init__.py"
    for folder in _FOLDERS:
        root = _folder(f"bothends.{folder}")
        for suffix in ("py", "yaml"):
            for path in root.rglob(f"*.{suffix}"):
                yield f"bothends/{folder}/{path.relative_to(root).as_posix()}", path


def _folder(module: str) -> Path:
    spec = find_spec(module)
    assert spec is not None and spec.origin is not None  # noqa: S101, PT018 - it is ours
    return Path(spec.origin).parent


def _is_here(target: tuple[str, str]) -> bool:
    """Tell whether what is installed here would run there too."""
    here = (".".join(platform.python_version_tuple()[:2]), platform.machine())
    if sys.platform != "linux" or target != here:
        return False
    tags = re.findall(
        r"^Tag: .*-(\w+)$",
        "".join(importlib.metadata.distribution(p).read_text("WHEEL") or "" for p in _PACKAGES),
        re.MULTILINE,
    )
    allowed = {"any", *_platforms(target[1])}
    return len(tags) >= len(_PACKAGES) and set(tags) <= allowed


def _installed() -> dict[str, Path]:
    """Return the files of the packages as they are installed here."""
    return {
        file.as_posix(): Path(str(file.locate()))
        for package in _PACKAGES
        for file in importlib.metadata.files(package) or ()
        if not _LEFT_OUT.match(file.as_posix())
    }


def _downloaded(target: tuple[str, str]) -> dict[str, Path]:
    """Return the files of the packages for another machine, from a directory that keeps them."""
    python, machine = target
    pins = [f"{each}=={importlib.metadata.version(each)}" for each in _PACKAGES]
    key = hashlib.sha256(" ".join([python, machine, *pins]).encode()).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bothends" / "job"
    kept = cache / key
    if not kept.is_dir():
        try:
            cache.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=cache) as scratch:
                _install(Path(scratch) / key, target, pins)
                shutil.move(Path(scratch) / key, kept)
        except OSError as error:
            raise EngineError(
                f"{cache} cannot be written: {error.strerror}; set XDG_CACHE_HOME to a directory "
                "that can"
            ) from error
    names = {path.relative_to(kept).as_posix(): path for path in kept.rglob("*") if path.is_file()}
    return {name: path for name, path in names.items() if not _LEFT_OUT.match(name)}


def _install(directory: Path, target: tuple[str, str], pins: list[str]) -> None:
    python, machine = target
    platforms = (f"--platform={each}" for each in _platforms(machine))
    command = [
        *(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile"),
        *("--target", str(directory), "--only-binary=:all:", f"--python-version={python}"),
        *("--implementation=cp", f"--abi=cp{python.replace('.', '')}", "--abi=abi3", "--abi=none"),
        *(*platforms, *pins),
    ]
    try:
        subprocess.run(  # noqa: S603
            command, check=True, capture_output=True, text=True, timeout=_PIP_TIMEOUT_S
        )
    except (subprocess.SubprocessError, OSError) as error:
        said = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
        raise EngineError(
            f"the packages that a job needs cannot be had for Python {python} on {machine}: "
            f"{said[-1] if said else 'pip does not say why'}. They are downloaded by pip, which "
            "must be installed beside bothends and reach its index"
        ) from error


def _platforms(machine: str) -> list[str]:
    glibc = range(_NEWEST_GLIBC, _OLDEST_GLIBC - 1, -1)
    return [*(f"manylinux_2_{minor}_{machine}" for minor in glibc), f"manylinux2014_{machine}"]
