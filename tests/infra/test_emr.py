"""EMR as an AWS on the loopback answers it, and misbehaves as it is told."""

from __future__ import annotations

import gzip
from datetime import timedelta
from typing import Any

import pytest

from bothends.infra.aws import Aws, Clock
from bothends.infra.emr import EmrCluster, active_clusters
from bothends.infra.emr_cost import bill
from bothends.infra.emr_site import EmrRun, EmrSite
from bothends.infra.errors import CloudError
from bothends.infra.job_state import JobState
from bothends.infra.prices import PriceBook
from bothends.infra.s3 import Bucket
from tests.aws_server import BUCKET, AwsServer, Ticking


@pytest.fixture
def clock() -> Ticking:
    return Ticking()


@pytest.fixture
def here(aws: AwsServer, clock: Ticking) -> Aws:
    return Aws("us-east-1", Clock(clock.now, clock.sleep, clock.today))


@pytest.fixture
def cluster(aws: AwsServer, here: Aws) -> EmrCluster:
    return EmrCluster(here, aws.start_cluster())


@pytest.fixture
def site(here: Aws, cluster: EmrCluster) -> EmrSite:
    return EmrSite(here, cluster.id)


def ends(aws: AwsServer, cluster: EmrCluster, step_id: str, state: str) -> Any:
    def end() -> None:
        aws.step(cluster.id, step_id).state = state

    return end


def wait(run: EmrRun, clock: Ticking) -> JobState:
    """Ask every ten seconds, as a sweep does."""
    while not (state := run.state()).ended:
        clock.sleep(10.0)
    return state


def test_a_job_is_a_step_that_is_waited_for(aws: AwsServer, site: EmrSite, clock: Ticking) -> None:
    run = site.start(f"s3://{BUCKET}/jobs/1/job.py", ["--job", "a b"], {"spark.x": "1"})
    (told,) = aws.client("emr").list_steps(ClusterId=site.cluster.id)["Steps"]
    command = told["Config"]["Args"]
    assert told["Config"]["Jar"] == "command-runner.jar"
    assert told["ActionOnFailure"] == "CONTINUE"
    assert command[:3] == ["spark-submit", "--deploy-mode", "client"]
    assert command[-3:] == [f"s3://{BUCKET}/jobs/1/job.py", "--job", "a b"]
    settings = dict(word.split("=") for word in command[4:-3:2])
    assert settings["spark.x"] == "1"
    assert settings["spark.pyspark.python"] == "python3.11"
    assert [step.id for step in site.cluster.unfinished()] == [run.step_id]
    aws.step(site.cluster.id, run.step_id).state = "PENDING"
    assert run.state().status == "waiting"
    states = ("RUNNING", "RUNNING", "COMPLETED")
    clock.meanwhile = [ends(aws, site.cluster, run.step_id, state) for state in states]
    assert wait(run, clock).status == "done"
    assert clock.waits == [10.0, 10.0, 10.0]
    assert site.cluster.unfinished() == ()


def test_a_state_that_nobody_knows_goes_on_until_our_deadline(
    aws: AwsServer, here: Aws, cluster: EmrCluster, clock: Ticking
) -> None:
    run = EmrSite(here, cluster.id, deadline_s=60).start("s3://b/job.py", [], {})
    aws.step(cluster.id, run.step_id).state = "MEDITATING"
    state = wait(run, clock)
    assert (clock.seconds, state.status) == (60, "failed")
    assert "was meditating after 60 s, and was cancelled" in state.reason
    assert aws.asked[-1] == "CancelSteps"


def test_a_deadline_and_an_abort_cancel_what_runs(
    aws: AwsServer, here: Aws, cluster: EmrCluster, clock: Ticking
) -> None:
    site = EmrSite(here, cluster.id, deadline_s=30)
    late, aborted = (site.start("s3://b/job.py", [], {}) for _ in range(2))
    assert wait(late, clock).status == "failed"
    aborted.cancel()
    aborted.cancel()
    for run in (late, aborted):
        assert aws.step(cluster.id, run.step_id).state == "CANCELLED"
    assert wait(aborted, clock).status == "failed"


def test_a_failed_step_is_explained_by_its_log_once_that_has_come(
    aws: AwsServer, here: Aws, site: EmrSite, clock: Ticking
) -> None:
    run = site.start("s3://b/job.py", [], {})
    ends(aws, site.cluster, run.step_id, "FAILED")()
    lines = [f"line {number}" for number in range(100)] + ["OutOfMemoryError: Java heap space", ""]
    key = f"logs/{site.cluster.id}/steps/{run.step_id}/stderr.gz"

    def log_comes() -> None:
        Bucket(here, BUCKET).put(key, gzip.compress("\n".join(lines).encode()))

    clock.meanwhile = [lambda: None, log_comes]
    state = run.state()
    assert (state.status, clock.seconds) == ("failed", 20)
    assert f"step {run.step_id} is failed" in state.reason
    assert state.reason.endswith("line 99\nOutOfMemoryError: Java heap space")
    assert "line 88\n" not in state.reason
    assert run.state() == state


def test_a_log_that_never_comes_is_not_waited_for_in_vain(
    aws: AwsServer, site: EmrSite, clock: Ticking
) -> None:
    run = site.start("s3://b/job.py", [], {})
    ends(aws, site.cluster, run.step_id, "FAILED")()
    assert "no log yet" in run.state().reason
    assert clock.seconds == 120


def test_a_cluster_that_dies_takes_its_step_with_it(
    aws: AwsServer, site: EmrSite, clock: Ticking
) -> None:
    run = site.start("s3://b/job.py", [], {})

    def dies() -> None:
        aws.cluster(site.cluster.id).state = "TERMINATED_WITH_ERRORS"

    clock.meanwhile = [dies]
    state = wait(run, clock)
    assert aws.step(site.cluster.id, run.step_id).state in ("PENDING", "RUNNING")
    assert state.status == "failed"
    assert "terminated with errors" in state.reason
    with pytest.raises(CloudError, match=r"takes no step.*cluster emr up"):
        site.start("s3://b/job.py", [], {})


@pytest.mark.parametrize(
    "fault", [(400, "ThrottlingException"), (429, "TooManyRequests"), (503, "Unavailable")]
)
def test_what_passes_is_tried_again(
    aws: AwsServer, cluster: EmrCluster, clock: Ticking, fault: tuple[int, str]
) -> None:
    aws.faults += [fault] * 3
    assert cluster.describe().state == "WAITING"
    assert aws.faults == []
    first, second, third = clock.waits
    assert 1 <= first < 2
    assert first < second < third + 1


def test_what_does_not_pass_ends_after_some_attempts(
    aws: AwsServer, cluster: EmrCluster, clock: Ticking
) -> None:
    aws.faults += [(400, "ThrottlingException")] * 20
    with pytest.raises(CloudError, match=r"describe cluster.*did not answer in 8 attempts"):
        cluster.describe()
    assert len(aws.faults) == 12
    assert len(clock.waits) == 7
    assert max(clock.waits) <= 31


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("ExpiredTokenException", "The credentials have expired"),
        ("UnrecognizedClientException", "does not know these credentials.*AWS_PROFILE"),
        ("AccessDeniedException", "not allowed to: ask"),
        ("InvalidRequestException", "InvalidRequestException happened"),
    ],
)
def test_what_is_refused_is_not_tried_again(
    aws: AwsServer, cluster: EmrCluster, clock: Ticking, error: str, said: str
) -> None:
    aws.faults.append((400, error))
    with pytest.raises(CloudError, match=said):
        cluster.describe()
    assert clock.waits == []


def test_without_credentials(here: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    with pytest.raises(CloudError, match="Set AWS_PROFILE, or AWS_ACCESS_KEY_ID"):
        EmrCluster(here, "j-1").describe()


def test_all_pages_are_read(aws: AwsServer, here: Aws) -> None:
    ids = {aws.start_cluster() for _ in range(55)}  # moto's pages hold 50
    assert {each.id for each in active_clusters(here)} == ids
    assert aws.asked[-2:] == ["ListClusters", "ListClusters"]


def test_the_end_of_a_cluster(aws: AwsServer, cluster: EmrCluster) -> None:
    assert cluster.terminate().over
    assert cluster.describe().gone
    asked = len(aws.asked)
    assert cluster.terminate().gone
    assert "TerminateJobFlows" not in aws.asked[asked:]


def test_a_cluster_that_will_not_end_is_told(
    aws: AwsServer, cluster: EmrCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    from moto.emr.models import ElasticMapReduceBackend

    monkeypatch.setattr(ElasticMapReduceBackend, "terminate_job_flows", lambda *_: [])
    with pytest.raises(CloudError, match="protected from termination"):
        cluster.terminate()


# By hand: m5.xlarge at 0.192, EMR's fee at 0.048, 64 GB at 0.08 a month of 720 hours.
DISK_USD = 64 * 0.08 / 720
NODE_USD = 0.192 + 0.048 + DISK_USD


def test_what_it_costs(aws: AwsServer, cluster: EmrCluster, clock: Ticking) -> None:
    clock.seconds = 2 * 3600
    told = bill(cluster, PriceBook.load())
    assert told.words == "emr:3xm5.xlarge?ebs_gb=64"
    assert EmrSite(cluster.aws, cluster.id).describe() == told.words
    assert told.price.usd_per_hour == pytest.approx(3 * NODE_USD)
    assert told.hours == pytest.approx(2, abs=0.01)
    assert told.usd == pytest.approx(6 * NODE_USD, rel=0.01)
    assert told.notes == ()


def test_a_spot_node_counts_with_its_bid_and_one_that_is_gone_with_its_hours(
    aws: AwsServer, here: Aws, clock: Ticking
) -> None:
    cluster = EmrCluster(here, aws.start_cluster(spot="0.07", cores=3))
    clock.seconds = 4 * 3600
    for node in aws.cluster(cluster.id).ec2_instances:
        group = node.instance_group
        if group.role == "CORE":
            group.end_date_time = group.creation_date_time + timedelta(hours=1)
    told = bill(cluster, PriceBook.load())
    spot_usd = 0.07 + 0.048 + DISK_USD
    assert told.words == "emr:m5.xlarge?ebs_gb=64"  # which is all that runs now
    assert told.usd == pytest.approx(4 * NODE_USD + 3 * spot_usd, rel=0.01)
    assert told.notes == ("spot nodes count with their bid, the most that they cost",)


def test_a_spot_node_whose_price_is_not_told_is_as_dear_as_can_be(
    aws: AwsServer, here: Aws
) -> None:
    cluster = EmrCluster(here, aws.start_cluster(spot=""))
    told = bill(cluster, PriceBook.load())
    assert told.price.usd_per_hour == pytest.approx(3 * NODE_USD)
    assert "count as on demand" in told.notes[0]


def test_a_cluster_that_is_gone_costs_no_more(
    aws: AwsServer, cluster: EmrCluster, clock: Ticking
) -> None:
    made = aws.cluster(cluster.id)
    made.terminate()
    made.end_datetime = made.creation_datetime + timedelta(hours=1)
    clock.seconds = 5 * 3600
    assert bill(cluster, PriceBook.load()).usd == pytest.approx(3 * NODE_USD, rel=0.01)


def test_a_prefix_is_deleted_with_its_older_versions(aws: AwsServer, here: Aws) -> None:
    s3 = aws.client("s3")
    s3.create_bucket(Bucket=BUCKET)
    s3.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
    bucket = Bucket(here, BUCKET)
    for name in ("jobs/1/a", "jobs/1/a", "jobs/1/b", "jobs/10/a"):
        assert bucket.put(name, name.encode()) == f"s3://{BUCKET}/{name}"
    assert bucket.get("jobs/1/a") == b"jobs/1/a"
    assert bucket.get("jobs/2/a") is None
    assert bucket.sizes("jobs/1/") == {"jobs/1/a": 8, "jobs/1/b": 8}
    s3.delete_object(Bucket=BUCKET, Key="jobs/1/b")  # which leaves a marker, and the version
    assert bucket.sizes("jobs/1/") == {"jobs/1/a": 8}
    assert bucket.delete("jobs/1/") == 2
    assert bucket.delete("jobs/1/") == 0
    left = s3.list_object_versions(Bucket=BUCKET)
    assert [each["Key"] for each in left["Versions"]] == ["jobs/10/a"]
    assert "DeleteMarkers" not in left
