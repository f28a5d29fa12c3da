"""`bothends cluster emr` as a user types it: Terraform does as a test says, AWS is on the loopback.

That the real Terraform does the same is what `tests/terraform/test_lab.py` shows.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.aws_server import BUCKET, AwsServer

Run = Callable[..., subprocess.CompletedProcess[str]]


class Lab:
    """A state directory, and a Terraform that plans and makes what a test says."""

    def __init__(self, path: Path, aws: AwsServer, main: Run) -> None:
        self.path, self.aws, self._main = path, aws, main
        self.directory = path / "state" / "bothends" / "emr" / "lab" / "terraform"
        self.binary = path / "bin" / "terraform"
        self.binary.parent.mkdir()
        self.plan = {"price": "emr:m5.xlarge+2xm5.xlarge?ebs_gb=64", "region": "us-east-1"}
        self.outputs: dict[str, Any] = {}
        self.says("")

    def says(self, script: str) -> None:
        planned = {"outputs": {name: {"value": value} for name, value in self.plan.items()}}
        outputs = {name: {"value": value} for name, value in self.outputs.items()}
        self.binary.write_text(
            f'#!/bin/sh\necho "$@" >> {self.path}/called\ncase $1 in\n'
            f"show) echo '{json.dumps({'planned_values': planned})}';;\n"
            f"output) echo '{json.dumps(outputs)}';;\nesac\n{script}\nexit 0\n"
        )
        self.binary.chmod(0o755)

    def holds(self, *addresses: str) -> None:
        """Have Terraform's state hold these, and no others."""
        parts = [each.rpartition(".")[0::2] for each in addresses]
        listed = [
            {"mode": "managed", "module": kind.rpartition(".")[0], "type": kind.split(".")[-1]}
            | {"name": name}
            for kind, name in parts
        ]
        self.directory.mkdir(parents=True, exist_ok=True)
        (self.directory / "terraform.tfstate").write_text(json.dumps({"resources": listed}))

    def up(self) -> str:
        """Have a cluster that was made."""
        cluster_id = self.aws.start_cluster()
        self.outputs = {
            "cluster_id": cluster_id,
            "region": "us-east-1",
            "bucket": BUCKET,
            "price": self.plan["price"],
            "connect_port": 15002,
        }
        self.says("")
        self.holds("module.emr.aws_emr_cluster.this", "module.emr.aws_s3_bucket.this")
        return cluster_id

    @property
    def called(self) -> list[list[str]]:
        return [line.split() for line in (self.path / "called").read_text().splitlines()]

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        env = {
            **self.aws.variables,
            "PATH": f"{self.binary.parent}:{os.environ['PATH']}",
            "XDG_STATE_HOME": str(self.path / "state"),
            "HOME": str(self.path),
            "USER": "somebody",
        }
        command = ("cluster", "emr", *arguments, "--name", "lab")
        return self._main(*command, cwd=self.path, env=env)


@pytest.fixture
def lab(tmp_path: Path, aws: AwsServer, main_in_here: Run) -> Lab:
    return Lab(tmp_path, aws, main_in_here)


def variables(lab: Lab) -> dict[str, Any]:
    files = sorted(lab.directory.glob("*.auto.tfvars.json"))
    return {name: value for file in files for name, value in json.loads(file.read_text()).items()}


def test_plan_says_what_an_hour_costs_and_makes_nothing(lab: Lab) -> None:
    shown = lab("plan", "--preset", "paper", "--nodes", "4", "--budget-email", "a@b.c")
    assert shown.returncode == 0, shown.stderr
    # By hand: 3 nodes of 0.192 with a fee of 0.048, and 64 GB each at 0.08 for 720 hours.
    assert f"An hour costs ${3 * (0.192 + 0.048 + 64 * 0.08 / 720):.4f}" in shown.stdout
    assert "$ terraform -chdir=" in shown.stdout
    assert [words[0] for words in lab.called] == ["init", "plan", "show"]
    given = variables(lab)
    assert (given["name"], given["core_instance_count"]) == ("lab", 4)
    assert given["budget_emails"] == ["a@b.c"]
    assert (given["owner"], given["region"]) == ("somebody", "us-east-1")
    assert "ebs_gb" not in given


def test_other_variables_pass_through(lab: Lab) -> None:
    extra = ["--var", "log_days=3", "--var", 'spark_properties={"a":"b"}', "--var", "vpc_cidr=10/8"]
    assert lab("plan", *extra).returncode == 0
    given = variables(lab)
    assert given["log_days"] == 3
    assert given["spark_properties"] == {"a": "b"}
    assert given["vpc_cidr"] == "10/8"
    for wrong in (["--var", "x"], ["--preset", "poor"]):
        assert lab("plan", *wrong).returncode == 2


def test_a_price_that_is_not_known_is_said_so(lab: Lab) -> None:
    lab.plan["price"] = "emr:x9.huge?ebs_gb=64"
    lab.says("")
    shown = lab("plan")
    assert shown.returncode == 0
    assert "not known: no price for node type 'x9.huge'" in shown.stderr


def test_up_asks_before_it_spends(lab: Lab) -> None:
    shown = lab("up")
    assert shown.returncode == 2
    assert "An hour costs $" in shown.stdout
    assert "give --yes" in shown.stderr
    assert "apply" not in [words[0] for words in lab.called]


def test_up_makes_what_was_planned_and_says_how_to_use_it(lab: Lab) -> None:
    lab.up()
    shown = lab("up", "--yes")
    assert shown.returncode == 0, shown.stderr
    assert ["apply", "-input=false", "-no-color", "-auto-approve", "planned.tfplan"] in lab.called
    node = lab.aws.client("emr").list_instances(
        ClusterId=lab.outputs["cluster_id"], InstanceGroupTypes=["MASTER"]
    )["Instances"][0]["Ec2InstanceId"]
    for said in (
        f"--target {node}",
        "AWS-StartPortForwardingSession",
        "portNumber=15002,localPortNumber=15002",
        "--engine 'sc://127.0.0.1:15002/;wait=300'",
        "--machine 'emr:m5.xlarge+2xm5.xlarge?ebs_gb=64'",
        "bothends sweep --on emr",
        "bothends cluster emr down --name lab",
    ):
        assert said in shown.stdout


def test_half_an_up_is_loud(lab: Lab) -> None:
    lab.says("[ $1 = apply ] && { echo 'Error: creating EMR Cluster: no luck'; exit 1; }")
    shown = lab("up", "--yes")
    assert shown.returncode == 1
    assert "creating EMR Cluster: no luck" in shown.stderr
    assert "*** What was made so far costs money. To end it:" in shown.stderr
    assert "bothends cluster emr down --name lab ***" in shown.stderr


def test_status_is_what_aws_says(lab: Lab) -> None:
    cluster_id = lab.up()
    lab.aws.client("emr").add_job_flow_steps(
        JobFlowId=cluster_id,
        Steps=[{"Name": "a job", "HadoopJarStep": {"Jar": "command-runner.jar"}}],
    )
    other = lab.aws.start_cluster()
    shown = lab("status")
    assert shown.returncode == 0, shown.stderr
    usd = 3 * (0.192 + 0.048 + 64 * 0.08 / 720)
    assert f"Cluster {cluster_id} of lab is running" in shown.stdout
    assert f"${usd:.4f} an hour" in shown.stdout
    assert "emr:3xm5.xlarge?ebs_gb=64" in shown.stdout
    assert "a job: " in shown.stdout
    assert f"Another cluster runs in us-east-1: {other}" in shown.stdout
    assert "To end it: bothends cluster emr down --name lab" in shown.stdout
    lab.aws.cluster(cluster_id).terminate()
    assert "is terminated" in lab("status").stdout


def test_down_ends_it_and_again_does_nothing(lab: Lab) -> None:
    lab.up()
    lab.says(
        f"[ $1 = destroy ] && echo '{{\"resources\": []}}' > {lab.directory}/terraform.tfstate"
    )
    for expected in ("Nothing of lab is left.", "Nothing of lab is there"):
        shown = lab("down")
        assert shown.returncode == 0, shown.stderr
        assert expected in shown.stdout
    destroyed = [words for words in lab.called if words[0] == "destroy"]
    assert destroyed == [["destroy", "-input=false", "-no-color", "-auto-approve"]]


def test_down_keeps_data_that_nobody_asked_to_delete(lab: Lab) -> None:
    lab.up()
    s3 = lab.aws.client("s3")
    for key in ("logs/x/steps/1/stderr.gz", "jobs/1/job.json", "bootstrap/connect_server.sh"):
        s3.put_object(Bucket=BUCKET, Key=key, Body=b"x")
    s3.put_object(Bucket=BUCKET, Key="data/tpch/sf1/region.parquet", Body=b"x" * 1024**2)
    shown = lab("down")
    assert shown.returncode == 0, shown.stderr
    assert f"s3://{BUCKET} with 1 objects of 1.0 MB stays" in shown.stdout
    assert "bothends cluster emr down --name lab --delete-data" in shown.stdout
    *_, last = lab.called
    assert last[4:] == [
        "-target=module.emr.aws_emr_cluster.this",
        "-target=module.emr.aws_vpc_endpoint.interface",
    ]
    assert "Nothing of lab is left." in lab("down", "--delete-data").stdout
    assert lab.called[-1] == ["destroy", "-input=false", "-no-color", "-auto-approve"]


def test_a_down_that_fails_is_loud(lab: Lab) -> None:
    lab.up()
    lab.says("[ $1 = destroy ] && { echo 'Error: ExpiredToken: expired'; exit 1; }")
    shown = lab("down")
    assert shown.returncode == 1
    assert "credentials have expired" in shown.stderr
    assert "*** The cluster may still run." in shown.stderr


def test_nothing_is_up(lab: Lab) -> None:
    for command in ("status", "down"):
        shown = lab(command)
        assert shown.returncode == 0
        assert "Nothing of lab is there" in shown.stdout
