"""The module as it stands: its format, its types, its own tests, and what checkov says of it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import ROOT, Terraform, variables

FOLDER = ROOT / "terraform"


def test_the_root_has_the_modules_variables_and_hands_them_on() -> None:
    root = variables(FOLDER / "variables.tf")
    module = variables(FOLDER / "modules" / "emr" / "variables.tf")
    del module["tags"]  # the provider's default_tags are the root's
    for name in ("region", "owner", "expires"):
        del root[name]
    assert root == module
    given = re.findall(r"^  (\w+) += var\.(\w+)$", (FOLDER / "main.tf").read_text(), re.M)
    assert given == [(name, name) for name in root]


def test_format(terraform: Terraform) -> None:
    assert terraform.must("fmt", "-check", "-recursive", "-diff") == ""


@pytest.mark.slow
def test_it_is_valid(terraform: Terraform) -> None:
    assert "Success!" in terraform.must("validate")


@pytest.mark.slow
def test_its_own_tests_pass(terraform: Terraform) -> None:
    said = terraform.must("test")
    runs = sum(path.read_text().count('\nrun "') for path in FOLDER.glob("tests/*.tftest.hcl"))
    assert f"Success! {runs} passed, 0 failed." in said


@pytest.mark.slow
def test_checkov_has_nothing_to_say() -> None:
    beside = Path(sys.prefix, "checkov", "bin", "checkov")
    checkov = str(beside) if beside.exists() else shutil.which("checkov")
    if checkov is None:
        pytest.skip("checkov is not here: make setup-checkov installs it")
    command = [checkov, "--directory", str(FOLDER), "--skip-download", "--output", "json"]
    command += ["--framework", "terraform", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    found = json.loads(done.stdout)
    failed = [(each["check_id"], each["resource"]) for each in found["results"]["failed_checks"]]
    assert failed == []
    assert found["summary"]["passed"] > 100
    # An exception is a line beside what it is about, with its reason behind a colon.
    skips = [line for path in FOLDER.rglob("*.tf") for line in path.read_text().splitlines()]
    skips = [line.strip() for line in skips if "checkov:skip" in line]
    assert [line for line in skips if len(line.split(":", 2)[2]) < 5] == []
