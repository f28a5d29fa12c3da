"""What is told of Terraform, and asked of it, with a Terraform that does as a test says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bothends.infra.errors import CloudError, UsageError
from bothends.infra.terraform import Terraform, terraform_home
from bothends.infra.terraform_errors import explained

# In the form in which Terraform 1.11 reports its errors; the causes are of the AWS provider 5.100.
EXPIRED = """
╷
│ Error: Retrieving AWS account details: validating provider credentials: retrieving caller \
identity from STS: operation error STS: GetCallerIdentity, https response error StatusCode: 403, \
RequestID: 1, api error ExpiredToken: The security token included in the request is expired
│
│   with provider["registry.terraform.io/hashicorp/aws"],
│   on providers.tf line 3, in provider "aws":
│    3: provider "aws" {
│
╵
"""
LOCKED = """
╷
│ Error: Error acquiring the state lock
│
│ Error message: resource temporarily unavailable
│ Lock Info:
│   ID:        99b4f9f5-7f5d-5a3a-2e4c-4b0d8a3b8e6b
│   Path:      terraform.tfstate
│
│
│ Terraform acquires a state lock to protect the state from being written
│ by multiple users at the same time.
╵
"""
INVALID = """
╷
│ Error: Invalid value for variable
│
│   on main.tf line 4, in module "emr":
│    4:   name = var.name
│     ├────────────────
│     │ var.name is "X"
│
│ name has 3 to 24 lower-case letters, digits and hyphens, and begins with a
│ letter.
│
│ This was checked by the validation rule at modules/emr/variables.tf:6,3-13.
╵
"""


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (EXPIRED, ["api error ExpiredToken", "credentials have expired: log in again"]),
        (LOCKED, ["Another Terraform", "force-unlock 99b4f9f5-7f5d-5a3a-2e4c-4b0d8a3b8e6b"]),
        (INVALID, ["Invalid value for variable", "begins with a letter"]),
        (
            "│ Error: deleting S3 Bucket (b): api error BucketNotEmpty: The bucket is not empty",
            ["deleting S3 Bucket", "force_destroy=false"],
        ),
        (
            "Error: No valid credential sources found\n\nPlease see the documentation",
            ["No valid credential sources", "AWS_PROFILE"],
        ),
        ("Segmentation fault\n", ["terraform plan: Segmentation fault", "terraform -chdir=/x"]),
        ("", ["it said nothing"]),
    ],
)
def test_an_error_is_a_line_or_two_and_what_to_do(said: str, told: list[str]) -> None:
    line = explained("plan", said, Path("/x"))
    for part in told:
        assert part in line
    assert "│" not in line
    assert "providers.tf" not in line
    assert "\n" not in line
    assert len(line) < 650


@pytest.fixture
def binary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that is found as Terraform, and notes how it was called."""
    binary = tmp_path / "bin" / "terraform"
    binary.parent.mkdir()
    monkeypatch.setenv("PATH", f"{binary.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    says(binary, "")
    return binary


def says(binary: Path, script: str) -> None:
    called = binary.parent / "called"
    binary.write_text(f'#!/bin/sh\necho "$@" >> {called}\n{script}\n')
    binary.chmod(0o755)


def test_the_directory_holds_all_that_terraform_needs_by_hand(binary: Path, tmp_path: Path) -> None:
    given = tmp_path / "mine.tfvars"
    given.write_text("ebs_gb = 32\n")
    terraform = Terraform(terraform_home("lab"))
    terraform.prepare({"name": "lab"}, defaults={"owner": "us"}, var_files=[given], preset="paper")
    directory = tmp_path / "state" / "bothends" / "emr" / "lab" / "terraform"
    assert terraform.directory == directory
    hcl = Path(__file__).parents[2] / "terraform"
    for name in ("main.tf", "modules/emr/cluster.tf", "modules/emr/files/connect_server.sh"):
        assert (directory / name).read_text() == (hcl / name).read_text()
    assert os.access(directory / "modules/emr/files/connect_server.sh", os.R_OK)
    assert (directory.parent / "infra" / "machines.yaml").exists()
    # In the order in which Terraform reads them: the last goes before the others.
    names = sorted(path.name for path in directory.glob("*.auto.tfvars*"))
    texts = [(directory / name).read_text() for name in names]
    assert json.loads(texts[0]) == {"owner": "us"}
    assert texts[1:3] == [(hcl / "paper.tfvars").read_text(), "ebs_gb = 32\n"]
    assert json.loads(texts[3]) == {"name": "lab"}
    # Another time without files leaves none behind, and no state is touched.
    (directory / "terraform.tfstate").write_text("{}")
    terraform.prepare({}, defaults={})
    assert len(list(directory.glob("*.auto.tfvars*"))) == 2
    assert (directory / "terraform.tfstate").exists()


def test_what_is_run_is_told_and_streamed(binary: Path) -> None:
    lines = "Plan: 30 to add", "  + an attribute", "module.emr.x: Destroying..."
    printed = "".join(f"echo '{line}'\n" for line in lines)
    says(binary, printed + '[ -z "$TF_IN_AUTOMATION" ] && exit 1; exit 0')
    told: list[str] = []
    terraform = Terraform(terraform_home("lab"), told.append)
    terraform.prepare({}, defaults={})
    terraform.destroy("module.emr.x")
    terraform._run("plan")
    chdir = f"-chdir={terraform.directory}"
    assert told == [
        f"$ terraform {chdir} destroy -input=false -no-color -auto-approve -target=module.emr.x",
        lines[0],
        lines[2],
        f"$ terraform {chdir} plan -input=false -no-color",
        *lines,
    ]
    called = (binary.parent / "called").read_text().splitlines()
    assert [line.split()[0] for line in called] == ["destroy", "plan"]


def test_a_failure_is_an_error_of_ours(binary: Path) -> None:
    says(binary, "echo 'Error: no luck'; exit 1")
    terraform = Terraform(terraform_home("lab"))
    terraform.prepare({}, defaults={})
    with pytest.raises(CloudError, match="terraform init: no luck"):
        terraform.init()


def test_without_terraform(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    terraform = Terraform(terraform_home("lab"))
    terraform.prepare({}, defaults={})
    with pytest.raises(CloudError, match=r"not on PATH; get 1\.9 or newer from https://"):
        terraform.init()


@pytest.mark.parametrize("name", ["", "X", "ab", "../../etc", "a" * 25, "lab-"])
def test_a_name_that_is_none(name: str) -> None:
    with pytest.raises(UsageError, match="--name"):
        terraform_home(name)


def made_in(terraform: Terraform, region: str) -> None:
    """Have it think that it has made something there."""
    terraform.prepare({}, defaults={})
    state = {"resources": [{"mode": "managed", "module": "module.emr", "type": "t", "name": "n"}]}
    state["resources"].append({"mode": "data", "type": "d", "name": "n"})
    (terraform.directory / "terraform.tfstate").write_text(json.dumps(state))
    (terraform.directory.parent / "region").write_text(region)


def test_it_ends_where_it_was_made_whatever_was_planned_since(binary: Path) -> None:
    planned = {"planned_values": {"outputs": {"region": {"value": "eu-west-1"}}}}
    says(binary, f"[ $1 = show ] && echo '{json.dumps(planned)}'; exit 0")
    terraform = Terraform(terraform_home("lab"))
    made_in(terraform, "us-east-1")
    assert terraform.resources() == ("module.emr.t.n",)
    with pytest.raises(UsageError, match="lab is in us-east-1, not in eu-west-1"):
        terraform.apply(terraform.plan())
    terraform.destroy()
    *_, last = (binary.parent / "called").read_text().splitlines()
    assert "-var=region=us-east-1" in last


def test_an_interrupt_reaches_it_once_and_it_writes_down_what_it_made(
    binary: Path, tmp_path: Path
) -> None:
    told = f"echo interrupted >> {tmp_path}/ends"
    says(
        binary,
        f"trap 'n=1; {told}' INT\nps -o pgid= $$ > {tmp_path}/group\ntouch {tmp_path}/begun\n"
        'for i in $(seq 100); do sleep 0.1; [ -n "$n" ] && break; done\nsleep 0.5\nexit 1',
    )
    code = (
        "from bothends.infra.terraform import *\n"
        "t = Terraform(terraform_home('lab'), print); t.prepare({}, defaults={}); t.init()"
    )
    running = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    while not (tmp_path / "begun").exists():
        assert running.poll() is None
        time.sleep(0.05)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does
    out, _ = running.communicate(timeout=30)
    assert "was asked to stop" in out
    assert running.returncode not in (0, None)
    assert (tmp_path / "ends").read_text() == "interrupted\n"
    # Not of our group: what a terminal sends to that reaches it through us alone.
    assert int((tmp_path / "group").read_text()) != running.pid
