"""Terraform, with the AWS provider of a local mirror and no way to AWS."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from .aws_lab import CONFIGURATION, aws_lab, environment

ROOT = Path(__file__).parents[2]

NOWHERE = "http://127.0.0.1:9"  # where nobody listens

VARIABLE = re.compile(
    r'^variable "(\w+)" \{\n  description = (.*)\n  type += (.*)\n(?:  default += (.*)\n)?', re.M
)


def variables(path: Path) -> dict[str, tuple[str, str, str]]:
    """Return the description, type and default of each variable, by its name."""
    return {
        name: (told, kind, default)
        for name, told, kind, default in VARIABLE.findall(path.read_text())
    }


@dataclass(frozen=True)
class Terraform:
    """Terraform in a copy of terraform/, with the price list where it looks for it."""

    directory: Path
    variables: dict[str, str]

    def run(self, *arguments: str, url: str = NOWHERE) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["terraform", *arguments],
            cwd=self.directory,
            env=self.variables | environment(url),
            capture_output=True,
            text=True,
            timeout=400,
        )

    def must(self, *arguments: str, url: str = NOWHERE) -> str:
        done = self.run(*arguments, "-no-color", url=url)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="session")
def terraform(tmp_path_factory: pytest.TempPathFactory) -> Terraform:
    mirror = os.environ.get("BOTHENDS_TERRAFORM_MIRROR")
    if shutil.which("terraform") is None or not mirror:
        pytest.skip(
            "Terraform is not on PATH, or BOTHENDS_TERRAFORM_MIRROR names no mirror of its provider"
        )
    top = tmp_path_factory.mktemp("terraform")
    left = shutil.ignore_patterns(".terraform*", "*.tfstate*")
    shutil.copytree(ROOT / "terraform", top / "terraform", ignore=left)
    (top / "infra").mkdir()
    shutil.copy(ROOT / "infra" / "machines.yaml", top / "infra")
    (top / "terraformrc").write_text(CONFIGURATION.format(mirror))
    named = {"PATH": os.environ["PATH"], "HOME": str(top), "TF_IN_AUTOMATION": "1"}
    made = Terraform(
        top / "terraform",
        named
        | {
            "TF_CLI_CONFIG_FILE": str(top / "terraformrc"),
            "TF_INPUT": "0",
            "CHECKPOINT_DISABLE": "1",
        },
    )
    made.must("init")
    return made


@pytest.fixture(scope="session")
def lab() -> Iterator[str]:
    with aws_lab() as url:
        yield url
