"""AWS on the loopback within a test's own process, which may set what it answers."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest import mock

import boto3

from .terraform.aws_lab import ACCOUNT_ID, add_what_lacks, environment

REGION = "us-east-1"
BUCKET = "lab-bucket"


@dataclass
class Ticking:
    """A clock that only waiting moves, and what was waited for."""

    seconds: float = 0.0
    waits: list[float] = field(default_factory=list)
    meanwhile: list[Any] = field(default_factory=list)

    def now(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        """Let time pass; what is to happen meanwhile happens, one thing a time."""
        self.waits.append(seconds)
        self.seconds += seconds
        if self.meanwhile:
            self.meanwhile.pop(0)()

    def today(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=self.seconds)


@dataclass
class AwsServer:
    """The server, and what lies behind it.

    Attributes:
        url: Its address.
        faults: What is answered instead to the requests that come next: status and error.
        asked: The operations that were asked for, in their order.
    """

    url: str
    faults: list[tuple[int, str]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def forget(self) -> None:
        """Forget all that was made, asked and to be answered."""
        from moto.moto_api._internal.models import moto_api_backend

        moto_api_backend.reset()
        self.faults.clear()
        self.asked.clear()

    @property
    def variables(self) -> dict[str, str]:
        return environment(self.url)

    def client(self, service: str) -> Any:
        keys = {"aws_access_key_id": "lab", "aws_secret_access_key": "lab"}
        return boto3.client(service, endpoint_url=self.url, region_name=REGION, **keys)

    def clusters(self) -> list[Any]:
        """Return moto's own clusters, whose states a test may set."""
        from moto.emr.models import emr_backends

        return list(emr_backends[ACCOUNT_ID][REGION].clusters.values())

    def cluster(self, cluster_id: str) -> Any:
        """Return one of them."""
        (cluster,) = (each for each in self.clusters() if each.id == cluster_id)
        return cluster

    def step(self, cluster_id: str, step_id: str) -> Any:
        """Return moto's own step."""
        (step,) = (each for each in self.cluster(cluster_id).steps if each.id == step_id)
        return step

    def start_cluster(self, *, spot: str | None = None, cores: int = 2, ebs_gb: int = 64) -> str:
        """Start a cluster with a bucket for its logs, and return its id."""
        disk = {"VolumeSpecification": {"VolumeType": "gp3", "SizeInGB": ebs_gb}}
        disks = {"EbsBlockDeviceConfigs": [disk | {"VolumesPerInstance": 1}]}
        groups: list[dict[str, Any]] = [
            {
                "InstanceRole": role,
                "InstanceType": "m5.xlarge",
                "InstanceCount": count,
                "Market": "ON_DEMAND",
                "EbsConfiguration": disks,
            }
            for role, count in (("MASTER", 1), ("CORE", cores))
        ]
        if spot is not None:
            groups[1] |= {"Market": "SPOT", "BidPrice": spot}
        self.client("s3").create_bucket(Bucket=BUCKET)
        started = self.client("emr").run_job_flow(
            Name="lab",
            ReleaseLabel="emr-7.0.0",
            LogUri=f"s3n://{BUCKET}/logs/",
            Instances={"InstanceGroups": groups, "KeepJobFlowAliveWhenNoSteps": True},
            JobFlowRole="nodes",
            ServiceRole="service",
        )
        return str(started["JobFlowId"])


@contextmanager
def aws_server() -> Iterator[AwsServer]:
    """Serve as long as the context lasts."""
    from moto.core.responses import BaseResponse
    from moto.server import ThreadedMotoServer

    add_what_lacks()
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    made = AwsServer("http://{}:{}".format(*server.get_host_and_port()))
    original = BaseResponse.call_action

    def call_action(self: Any) -> Any:
        made.asked.append(self._get_action())
        if not made.faults:
            return original(self)
        status, error = made.faults.pop(0)
        body = json.dumps({"__type": error, "message": f"{error} happened"})
        return status, {"x-amzn-ErrorType": error}, body

    with mock.patch.object(BaseResponse, "call_action", call_action):
        yield made
    server.stop()
