"""EMR Serverless as an AWS on the loopback answers it, and the data that jobs read."""

from __future__ import annotations

import gzip
import shlex
from pathlib import Path
from typing import Any

import pytest

from bothends.infra.aws import Aws, Clock
from bothends.infra.dataset import Dataset
from bothends.infra.emr_serverless import ServerlessRun, ServerlessSite
from bothends.infra.errors import CloudError, DataError
from bothends.infra.job_bucket import JobBucket
from tests.aws_server import BUCKET, REGION, AwsServer, Ticking


@pytest.fixture
def clock() -> Ticking:
    return Ticking()


@pytest.fixture
def here(aws: AwsServer, clock: Ticking) -> Aws:
    aws.client("s3").create_bucket(Bucket=BUCKET)
    return Aws(REGION, Clock(clock.now, clock.sleep, clock.today))


@pytest.fixture
def site(aws: AwsServer, here: Aws) -> ServerlessSite:
    made = aws.client("emr-serverless").create_application(
        name="lab", releaseLabel="emr-7.0.0", type="SPARK", clientToken="1"
    )
    role = "arn:aws:iam::123456789012:role/lab-jobs"
    return ServerlessSite(here, made["applicationId"], role, BUCKET, deadline_s=600)


def start(site: ServerlessSite) -> tuple[ServerlessRun, Any]:
    """Start a job, and return it with moto's own."""
    from moto.emrserverless.models import emrserverless_backends

    run = site.start("s3://b/job.py", ["--job", "a b"], {"spark.x": "1 2"})
    backend = emrserverless_backends["123456789012"][REGION]
    return run, backend.job_runs[site.title.split()[-1]][-1]


def test_a_job_is_a_run_of_the_script(site: ServerlessSite) -> None:
    run, told = start(site)
    submit = told.job_driver["sparkSubmit"]
    assert submit["entryPoint"] == "s3://b/job.py"
    assert submit["entryPointArguments"] == ["--job", "a b"]
    settings = shlex.split(submit["sparkSubmitParameters"])
    assert settings[0::2] == ["--conf"] * (len(settings) // 2)
    assert "spark.x=1 2" in settings
    assert told.execution_timeout_minutes == 10
    logs = told.configuration_overrides["monitoringConfiguration"]["s3MonitoringConfiguration"]
    assert logs == {"logUri": f"s3://{BUCKET}/logs/"}
    states = ("SUBMITTED", "SCHEDULED", "RUNNING", "REFLECTING", "SUCCESS")
    seen = []
    for told.state in states:
        seen.append(run.state().status)
    assert seen == ["waiting", "waiting", "running", "running", "done"]


def test_it_costs_what_was_billed(site: ServerlessSite) -> None:
    assert site.describe() is None
    run, told = start(site)
    assert site.describe() is None  # nothing has been billed yet
    use = {"vCPUHour": 2.0, "memoryGBHour": 8.0, "storageGBHour": 100.0}
    told.billed_resource_utilization = use
    told.total_execution_duration_seconds = 1800
    # By hand: 2 hours of a vCPU, 8 of a gigabyte, 100 of a gigabyte of disk.
    usd = 2 * 0.052624 + 8 * 0.0057785 + 100 * 0.000111
    assert run.cost() == (pytest.approx(usd), 1800)
    words = site.describe()
    assert words is not None
    assert float(words) == pytest.approx(2 * usd)


def test_a_run_that_fails_is_explained(site: ServerlessSite, clock: Ticking) -> None:
    run, told = start(site)
    told.state, told.state_details = "FAILED", "Job failed"
    key = f"logs/applications/{told.application_id}/jobs/{told.id}/SPARK_DRIVER/stderr.gz"
    clock.meanwhile = [lambda: site.put(key, gzip.compress(b"first\nNo module named x\n"))]
    state = run.state()
    assert state.status == "failed"
    assert "Job failed" in state.reason
    assert state.reason.endswith("No module named x")


def test_a_run_ends_at_our_deadline(aws: AwsServer, site: ServerlessSite, clock: Ticking) -> None:
    run, told = start(site)
    told.state = "RUNNING"
    clock.seconds = 599
    assert run.state().status == "running"
    clock.seconds = 600
    assert "after 600 s, and was cancelled" in run.state().reason
    assert told.state in ("CANCELLING", "CANCELLED")
    run.cancel()  # does nothing any more


def test_a_role_that_may_not_is_told(aws: AwsServer, site: ServerlessSite) -> None:
    aws.faults.append((403, "AccessDeniedException"))
    with pytest.raises(CloudError, match=r"start job run.*not allowed"):
        start(site)


def test_data_is_found_where_it_was_put(here: Aws, tpch_dataset: Dataset) -> None:
    bucket = JobBucket(here, BUCKET)
    with pytest.raises(DataError, match=rf"data tpch --scale-factor 0\.01 --to s3://{BUCKET}/data"):
        bucket.data("tpch", 0.01)
    place = "data/tpch/sf0.01"
    region = Path(tpch_dataset.tables["region"])
    for path in [region.parent / "manifest.json", *map(Path, tpch_dataset.tables.values())]:
        bucket.put(f"{place}/{path.name}", path.read_bytes())
    found = bucket.data("tpch", 0.01)
    assert found.described == f"tpch {tpch_dataset.digest}"
    assert set(found.tables) == set(tpch_dataset.tables)
    assert found.tables["region"] == f"s3://{BUCKET}/{place}/region.parquet"
    bucket.put(f"{place}/region.parquet", region.read_bytes()[:-1])
    with pytest.raises(DataError, match=r"table region in .* is not whole"):
        bucket.data("tpch", 0.01)
