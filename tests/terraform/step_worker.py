"""What stands in for a cluster's nodes in the lab: it carries steps out, with Spark here."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bothends.eval.local_site import LocalRun, LocalSite
from tests.aws_server import AwsServer

CORES = 1
LOOK_S = 0.5
QUICK = ("-Xmx1g", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


class StepWorker(threading.Thread):
    """Takes each step of each cluster, runs its command by spark-submit, and sets its state.

    What is `s3://bucket/` to the step is a directory that the bucket is copied to and from, since
    the Spark of PyPI has no client for S3.

    Args:
        aws: Where the clusters are.
        directory: Where buckets are copied to.

    Attributes:
        commands: The commands that were carried out.
    """

    def __init__(self, aws: AwsServer, directory: Path) -> None:
        super().__init__(name="step-worker", daemon=True)
        self.commands: list[list[str]] = []
        self._aws, self._directory = aws, directory
        self._s3 = aws.client("s3")
        self._told_to_stop = threading.Event()
        self._sent: dict[Path, int] = {}

    def run(self) -> None:
        """Look for steps until told to stop."""
        while not self._told_to_stop.wait(LOOK_S):
            for cluster in self._aws.clusters():
                for step in list(cluster.steps):
                    if step.state in ("PENDING", "RUNNING") and cluster.state in (
                        "RUNNING",
                        "WAITING",
                    ):
                        self._carry_out(cluster, step)

    def close(self) -> None:
        """Stop, with what runs."""
        self._told_to_stop.set()
        self.join(60)

    def _carry_out(self, cluster: Any, step: Any) -> None:
        step.state = "RUNNING"
        command = list(step.args)
        if command[0] != "spark-submit":  # the Connect server, which the lab has no use for
            step.state = "COMPLETED"
            return
        self.commands.append(command)
        bucket = cluster.log_uri.split("/")[2]
        self._fetch(bucket)
        run = self._submit(bucket, command)
        while not (state := run.state()).ended:
            self._send(bucket)
            if (
                step.state == "CANCELLED"
                or cluster.state.startswith("TERM")
                or self._told_to_stop.is_set()
            ):
                run.cancel()
            self._told_to_stop.wait(LOOK_S)
        self._send(bucket)
        key = f"logs/{cluster.id}/steps/{step.id}/stderr.gz"
        log = gzip.compress(state.reason.encode())
        self._s3.put_object(Bucket=bucket, Key=key, Body=log)
        if step.state == "RUNNING":
            step.state = "COMPLETED" if state.status == "done" else "FAILED"

    def _submit(self, bucket: str, command: list[str]) -> LocalRun:
        """Run `spark-submit --deploy-mode client --conf ... SCRIPT ARGUMENT...`."""
        assert command[:3] == ["spark-submit", "--deploy-mode", "client"]
        words, conf = command[3:], {}
        while words[0] == "--conf":
            name, _, value = words[1].partition("=")
            conf[name] = value
            words = words[2:]
        script, *arguments = [self._here(bucket, word) for word in words]
        site = LocalSite(self._directory, f"local[{CORES}]", self._directory, java=QUICK)
        return site.start(script, arguments, _without_python(conf))

    def _here(self, bucket: str, text: str) -> str:
        return text.replace(f"s3://{bucket}/", f"{(self._directory / bucket).as_uri()}/")

    def _fetch(self, bucket: str) -> None:
        pages = self._s3.get_paginator("list_objects_v2").paginate(Bucket=bucket)
        for key in [each["Key"] for page in pages for each in page.get("Contents", [])]:
            path = self._directory / bucket / key
            path.parent.mkdir(parents=True, exist_ok=True)
            content = self._s3.get_object(Bucket=bucket, Key=key)["Body"].read()
            if path.name == "job.json":
                content = self._here(bucket, content.decode()).encode()
            path.write_bytes(content)
            self._sent[path] = path.stat().st_mtime_ns

    def _send(self, bucket: str) -> None:
        root = self._directory / bucket
        for path in sorted(root.rglob("*")):
            if path.name.startswith(".") or not path.is_file():
                continue
            written = path.stat().st_mtime_ns
            if self._sent.get(path) != written:
                key = path.relative_to(root).as_posix()
                self._s3.put_object(Bucket=bucket, Key=key, Body=path.read_bytes())
                self._sent[path] = written


def _without_python(conf: Mapping[str, str]) -> dict[str, str]:
    """Leave out what names EMR's Python; the Python here is this one."""
    return {name: value for name, value in conf.items() if "python" not in name.lower()}
