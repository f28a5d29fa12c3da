"""However a sweep on EMR ends, its cluster does too, or a loud line says that it does not."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from bothends.emr_sweep import Place, place_of_jobs, priced_there
from bothends.eval.experiment import Experiment
from bothends.infra.emr_site import EmrSite
from bothends.infra.errors import EngineError, UsageError
from tests.aws_server import BUCKET, AwsServer


@pytest.fixture(autouse=True)
def _handlers() -> Any:
    """Put back what the signals did."""
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


@pytest.fixture
def cluster_id(aws: AwsServer) -> str:
    return aws.start_cluster()


def by_id(given: str, /, **changed: Any) -> Place:
    return Place(
        **{
            "on": "emr",
            "cluster": "bothends",
            "cluster_id": given,
            "bucket": None,
            "region": "us-east-1",
            "keep_cluster": False,
            "keep_objects": False,
            **changed,
        }
    )


def keys(aws: AwsServer) -> list[str]:
    found = aws.client("s3").list_objects_v2(Bucket=BUCKET).get("Contents", [])
    return [each["Key"] for each in found]


def test_a_sweep_that_is_done_leaves_nothing(
    aws: AwsServer, cluster_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with place_of_jobs(by_id(cluster_id)) as site:
        site.put("jobs/1f0c/job.json", b"{}")
        site.put("code/abc.zip", b"zip")
        # What the job itself wrote, and what is not of this sweep.
        s3 = aws.client("s3")
        for key in ("jobs/1f0c/records/3a.json", "jobs/other/job.json", "data/x.parquet"):
            s3.put_object(Bucket=BUCKET, Key=key, Body=b"x")
    assert keys(aws) == ["data/x.parquet", "jobs/other/job.json"]
    assert aws.cluster(cluster_id).state == "TERMINATED"
    said = capsys.readouterr().err
    assert f"EMR cluster {cluster_id} is terminated." in said
    assert "***" not in said


@pytest.mark.parametrize(
    "ending", [EngineError("no luck"), KeyboardInterrupt(), SystemExit(3), RuntimeError()]
)
def test_a_sweep_that_ends_otherwise_ends_the_cluster_and_keeps_what_was_done(
    aws: AwsServer, cluster_id: str, ending: BaseException
) -> None:
    def sweep() -> None:
        with place_of_jobs(by_id(cluster_id)) as site:
            site.put("jobs/1f0c/job.json", b"{}")
            site.start("s3://b/job.py", [], {})
            raise ending

    with pytest.raises(type(ending)):
        sweep()
    assert aws.cluster(cluster_id).state == "TERMINATED"
    assert keys(aws) == ["jobs/1f0c/job.json"]
    assert [step.state for step in aws.cluster(cluster_id).steps] == ["CANCELLED"]


def test_a_mistake_does_not_cost_the_cluster_but_is_told_loudly(
    aws: AwsServer, cluster_id: str, tmp_path: Path, main_in_here: Any
) -> None:
    command = ["sweep", "--on", "emr", "--cluster-id", cluster_id, "--scale-factors", "0.01"]
    command += ["--suite", "tpch", "--engine", "sqlite", "--model", "scripted:perfect"]
    shown = main_in_here(*command, cwd=tmp_path, env={**aws.variables, "HOME": str(tmp_path)})
    assert shown.returncode == 2
    assert "runs Spark" in shown.stderr
    assert aws.cluster(cluster_id).state == "WAITING"
    assert f"aws emr terminate-clusters --cluster-ids {cluster_id} ***" in shown.stderr


def test_asked_to_end_it_ends_the_cluster(aws: AwsServer, cluster_id: str) -> None:
    with pytest.raises(SystemExit) as ended, place_of_jobs(by_id(cluster_id)):
        os.kill(os.getpid(), signal.SIGTERM)
    assert ended.value.code == 128 + signal.SIGTERM
    assert aws.cluster(cluster_id).state == "TERMINATED"


def test_a_cluster_that_is_kept_is_told_loudly(
    aws: AwsServer, cluster_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with place_of_jobs(by_id(cluster_id, keep_cluster=True, keep_objects=True)) as site:
        site.put("jobs/1f0c/job.json", b"{}")
    assert aws.cluster(cluster_id).state == "WAITING"
    assert keys(aws) == ["jobs/1f0c/job.json"]
    said = capsys.readouterr().err
    assert f"To end it: aws emr terminate-clusters --cluster-ids {cluster_id} ***" in said


def test_a_cluster_that_cannot_be_ended_is_told_loudly(
    aws: AwsServer, cluster_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with place_of_jobs(by_id(cluster_id)):
        aws.faults.append((400, "ExpiredTokenException"))
    assert aws.cluster(cluster_id).state == "WAITING"
    said = capsys.readouterr().err
    assert "was not ended, and costs money (AWS: cannot describe cluster" in said
    assert f"terminate-clusters --cluster-ids {cluster_id} ***" in said


def test_it_is_charged_at_what_the_cluster_is(aws: AwsServer, cluster_id: str) -> None:
    with place_of_jobs(by_id(cluster_id)) as site:
        plain = Experiment(suite="tpch", engine="spark", models=("scripted:perfect",))
        assert priced_there(plain, site).machine == "emr:3xm5.xlarge?ebs_gb=64"
        own = plain.model_copy(update={"machine": "0.5"})
        assert priced_there(own, site).machine == "0.5"


def test_a_cluster_by_name_is_that_of_up(
    aws: AwsServer, cluster_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    place = by_id(cluster_id, cluster="lab", cluster_id=None)
    with (
        pytest.raises(UsageError, match="bothends cluster emr up --name lab"),
        place_of_jobs(place),
    ):
        pass
    directory = tmp_path / "bothends" / "emr" / "lab" / "terraform"
    directory.mkdir(parents=True)
    state = {"resources": [{"mode": "managed", "type": "t", "name": "n"}]}
    (directory / "terraform.tfstate").write_text(json.dumps(state))
    outputs = {"cluster_id": cluster_id, "region": "us-east-1", "bucket": "another"}
    told = json.dumps({name: {"value": value} for name, value in outputs.items()})
    binary = tmp_path / "terraform"
    binary.write_text(f"#!/bin/sh\necho '{told}'\n")
    binary.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with place_of_jobs(place) as site:
        assert isinstance(site, EmrSite)
        assert (site.cluster.id, site.uri("x")) == (cluster_id, "s3://another/x")
    assert aws.cluster(cluster_id).state == "TERMINATED"
    serverless = by_id(cluster_id, on="emr-serverless", cluster="lab", cluster_id=None)
    with pytest.raises(UsageError, match="--serverless"), place_of_jobs(serverless):
        pass
    with pytest.raises(UsageError, match="--on moon"), place_of_jobs(by_id(cluster_id, on="moon")):
        pass
