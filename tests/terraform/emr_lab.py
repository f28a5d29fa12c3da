"""A sweep on EMR from nothing to nothing, on an AWS on the loopback: `make emr-lab`.

The real Terraform makes the module there, the command line sweeps on it, its step is really
carried out by Spark on this machine, the records come home, and in the end nothing is left.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from tests.aws_server import AwsServer, aws_server

from .aws_lab import CONFIGURATION
from .step_worker import StepWorker

NAME = "lab"
HOME, LARGE = 0.01, 0.02
QUESTIONS = ("6", "14")
PLACES = ("/opt", "/usr/local/share", "/usr/share", "/srv", str(Path.home() / ".terraform.d"))

Say = Callable[[str], None]


@dataclass(frozen=True)
class Lab:
    """The command line beside an AWS of its own."""

    aws: AwsServer
    path: Path
    env: Mapping[str, str]
    say: Say

    def run(self, *arguments: str) -> str:
        """Run `bothends`, tell what it prints, and return it."""
        self.say(f"\n% bothends {' '.join(arguments)}")
        command = [sys.executable, "-m", "bothends", *arguments]
        done = subprocess.run(
            command,
            cwd=self.path,
            env=dict(self.env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=900,
            check=False,
        )
        self.say(done.stdout)
        assert done.returncode == 0, f"bothends {' '.join(arguments)}:\n{done.stdout}"
        return done.stdout


def mirror() -> Path | None:
    """Return where the AWS provider lies unpacked: what the environment names, or is usual."""
    named = os.environ.get("BOTHENDS_TERRAFORM_MIRROR")
    if named:
        return Path(named)
    provider = "registry.terraform.io/hashicorp/aws"
    found = [path for place in PLACES for path in Path(place).glob(f"*/{provider}")]
    return found[0].parents[2] if found else None


def missing() -> str:
    """Return what is not here and is needed; nothing where all is."""
    if shutil.which("terraform") is None:
        return "Terraform is not on PATH"
    if mirror() is None:
        return "BOTHENDS_TERRAFORM_MIRROR names no directory with Terraform's AWS provider"
    return ""


def play(path: Path, data: Path, say: Say = lambda _: None) -> dict[str, Any]:
    """Do all of it, and return what was found on the way.

    Args:
        path: A directory that is empty.
        data: Where TPC-H at the smaller scale factor is, or is made.
        say: Is told all that is printed.
    """
    (path / "terraformrc").write_text(CONFIGURATION.format(mirror()))
    # Of AWS's own policies, which roles are given.
    with mock.patch.dict(os.environ, MOTO_IAM_LOAD_MANAGED_POLICIES="true"), aws_server() as aws:
        aws.forget()
        env = {
            **{name: value for name, value in os.environ.items() if not name.startswith("AWS_")},
            **aws.variables,
            "TF_CLI_CONFIG_FILE": str(path / "terraformrc"),
            "XDG_STATE_HOME": str(path / "state"),
            "NO_COLOR": "1",
        }
        lab, worker = Lab(aws, path, env, say), StepWorker(aws, path / "nodes")
        worker.start()
        try:
            return _from_nothing_to_nothing(lab, data) | {"commands": worker.commands}
        finally:
            worker.close()


def _from_nothing_to_nothing(lab: Lab, data: Path) -> dict[str, Any]:
    named = ("--name", NAME)
    up = lab.run("cluster", "emr", "up", *named, "--nodes", "3", "--yes")
    (cluster,) = lab.aws.clusters()
    bucket = cluster.log_uri.split("/")[2]
    try:
        lab.run("data", "tpch", "--scale-factor", str(LARGE), "--to", f"s3://{bucket}/data")
        sweep = lab.run(
            *("sweep", "--on", "emr", "--cluster", NAME, "--yes", "--out", "swept"),
            *("--scale-factors", f"{HOME},{LARGE}", "--suite", "tpch", "--engine", "spark"),
            *("--warmups", "0", "--repeats", "1"),
            *("--data", str(data), "--model", "scripted:perfect", "--model", "scripted:wrong_rows"),
            *(word for question in QUESTIONS for word in ("--question", question)),
        )
        status = lab.run("cluster", "emr", "status", *named)
        objects = lab.aws.client("s3").list_objects_v2(Bucket=bucket)["Contents"]
        state = cluster.state
    finally:
        down = lab.run("cluster", "emr", "down", *named, "--delete-data")
    again = lab.run("cluster", "emr", "down", *named)
    return {
        "up": up,
        "sweep": sweep,
        "status": status,
        "down": down,
        "again": again,
        "cluster": cluster.id,
        "state_after_sweep": state,
        "folders": sorted({each["Key"].split("/")[0] for each in objects}),
        "swept": lab.path / "swept",
        "left": left(lab),
    }


def left(lab: Lab) -> list[str]:
    """Return what is still there: clusters, buckets, networks, and processes of ours."""
    ec2, s3 = lab.aws.client("ec2"), lab.aws.client("s3")
    clusters = [each.id for each in lab.aws.clusters() if not each.state.startswith("TERMINATED")]
    buckets = [each["Name"] for each in s3.list_buckets()["Buckets"]]
    networks = [each["VpcId"] for each in ec2.describe_vpcs()["Vpcs"] if not each["IsDefault"]]
    return [*clusters, *buckets, *networks, *processes(str(lab.path))]


def processes(mark: str) -> list[str]:
    """Return the commands of other processes that have a text among their arguments."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:  # gone meanwhile
            continue
        if mark in command and path.parent.name != str(os.getpid()):
            found.append(command)
    return found


def main() -> None:
    """Play it before a person."""
    lacks = missing()
    if lacks:
        sys.exit(f"emr-lab: {lacks}")
    with tempfile.TemporaryDirectory(prefix="bothends-emr-lab-") as scratch:
        path = Path(scratch)
        found = play(path, Path("data").absolute(), lambda text: print(text, flush=True))  # noqa: T201
        if found["left"]:
            sys.exit(f"emr-lab: left over: {', '.join(found['left'])}")
        report = Path("runs/emr-lab")
        shutil.rmtree(report, ignore_errors=True)
        shutil.copytree(found["swept"], report)
    print(f"\nNothing is left but {report}, with the report of the sweep.")  # noqa: T201


if __name__ == "__main__":
    main()
