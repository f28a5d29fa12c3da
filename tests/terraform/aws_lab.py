"""A small AWS on the loopback: moto's server, and the calls that Terraform makes and it lacks.

Run as a program it prints its address on the first line, and ends with whoever started it:
`python tests/terraform/aws_lab.py [PORT]`. It knows no permissions, no capacity and no prices.
"""

from __future__ import annotations

import contextlib
import functools
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ACCOUNT_ID = "123456789012"
"""The account that every key belongs to."""

CONFIGURATION = """
disable_checkpoint = true
provider_installation {{
  filesystem_mirror {{
    path    = "{}"
    include = ["registry.terraform.io/hashicorp/aws"]
  }}
}}
"""
"""Terraform's own configuration, by which it gets the provider from a mirror and nowhere else."""


def environment(url: str) -> dict[str, str]:
    """Return what leads AWS's own tools, Terraform and boto3 to a lab and nowhere else."""
    nowhere = os.devnull
    return {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": "lab",
        "AWS_SECRET_ACCESS_KEY": "lab",
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": nowhere,
        "AWS_SHARED_CREDENTIALS_FILE": nowhere,
    }


@contextlib.contextmanager
def aws_lab() -> Iterator[str]:
    """Run a lab of one's own, in a process of its own, and give its address."""
    command = [sys.executable, str(Path(__file__))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            url = process.stdout.readline().strip()
            assert url, "the lab did not start; its error is above"
            yield url
        finally:
            process.kill()


def serve(port: int) -> None:
    """Serve until the process that started this one is gone."""
    parent = os.getppid()
    # Read when moto is imported: the managed policies of AWS, which roles are given.
    os.environ["MOTO_IAM_LOAD_MANAGED_POLICIES"] = "true"
    from moto.server import ThreadedMotoServer

    add_what_lacks()
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    server = ThreadedMotoServer("127.0.0.1", port, verbose=False)
    server.start()
    url = "http://{}:{}".format(*server.get_host_and_port())
    sys.stdout.write(f"{url}\n")
    if sys.stdout.isatty():
        sys.stdout.writelines(
            f"export {name}={value}\n" for name, value in environment(url).items()
        )
    sys.stdout.flush()
    with contextlib.suppress(KeyboardInterrupt):
        while os.getppid() == parent:
            time.sleep(0.5)


def add_what_lacks() -> None:
    """Add to moto what the AWS provider calls, or AWS would answer, and moto 5.2 does not."""
    add_to_emr()
    add_to_budgets()
    mend_serverless()
    mend_ec2()
    mend_s3()


def add_to_emr() -> None:
    from moto.core.responses import ActionResult, EmptyResult
    from moto.core.utils import utcnow
    from moto.emr.exceptions import InvalidRequestException
    from moto.emr.responses import ElasticMapReduceResponse as Emr
    from moto.emr.utils import EmrSecurityGroupManager

    def cluster_of(call: Any) -> Any:
        return call.backend.describe_cluster(call._get_param("ClusterId"))

    @replaces(Emr, "run_job_flow")
    def run_job_flow(original: Callable[[Any], Any], call: Any) -> Any:
        result = original(call)
        cluster = call.backend.describe_cluster(result._result["JobFlowId"])
        timeout_s = call._get_param("AutoTerminationPolicy.IdleTimeout")
        cluster.idle_timeout_s = timeout_s and int(timeout_s)
        return result

    def get_auto_termination_policy(call: Any) -> Any:
        timeout_s = getattr(cluster_of(call), "idle_timeout_s", None)
        return ActionResult(
            {"AutoTerminationPolicy": {"IdleTimeout": timeout_s}} if timeout_s else {}
        )

    def put_auto_termination_policy(call: Any) -> Any:
        cluster_of(call).idle_timeout_s = int(call._get_param("AutoTerminationPolicy.IdleTimeout"))
        return EmptyResult()

    def remove_auto_termination_policy(call: Any) -> Any:
        cluster_of(call).idle_timeout_s = None
        return EmptyResult()

    def list_instance_fleets(call: Any) -> Any:
        raise InvalidRequestException("Instance fleets and groups are mutually exclusive.")

    def cancel_steps(call: Any) -> Any:
        steps = {step.id: step for step in cluster_of(call).steps}
        cancelled = []
        for step_id in call._get_param("StepIds", []):
            step = steps.get(step_id)
            if step is not None and step.state in ("PENDING", "RUNNING"):
                step.state, step.end_date_time = "CANCELLED", utcnow()
                cancelled.append({"StepId": step_id, "Status": "SUBMITTED"})
            else:
                cancelled.append({"StepId": step_id, "Status": "FAILED"})
        return ActionResult({"CancelStepsInfoList": cancelled})

    for added in (
        get_auto_termination_policy,
        put_auto_termination_policy,
        remove_auto_termination_policy,
        list_instance_fleets,
        cancel_steps,
    ):
        setattr(Emr, added.__name__, added)

    # moto's rules include one to everywhere, which EMR does not add to groups of one's own.
    @replaces(EmrSecurityGroupManager, "_add_rules_to")
    def _add_rules_to(original: object, manager: object, groups: object) -> None:
        """Leave the groups as they are."""


def add_to_budgets() -> None:
    from moto.budgets.responses import BudgetsResponse as Budgets

    def budget_of(call: Any, account: str, name: str) -> Any:
        return call.backend.budgets[account][name]

    @replaces(Budgets, "create_budget")
    def create_budget(original: Callable[[Any], Any], call: Any) -> Any:
        answer = original(call)
        name = call._get_param("Budget")["BudgetName"]
        tags = call._get_param("ResourceTags") or []
        budget_of(call, call._get_param("AccountId"), name).resource_tags = tags
        return answer

    def list_tags_for_resource(call: Any) -> str:
        *_, account, name = call._get_param("ResourceARN").split(":")
        budget = budget_of(call, account, name.removeprefix("budget/"))
        return json.dumps({"ResourceTags": budget.resource_tags})

    def describe_subscribers_for_notification(call: Any) -> str:
        wanted = call._get_param("Notification")
        told = ("NotificationType", "ComparisonOperator", "Threshold")
        budget = budget_of(call, call._get_param("AccountId"), call._get_param("BudgetName"))
        subscribers = next(
            each.subscribers
            for each in budget.notifications
            if all(each.details[name] == wanted[name] for name in told)
        )
        return json.dumps({"Subscribers": subscribers})

    for added in (list_tags_for_resource, describe_subscribers_for_notification):
        setattr(Budgets, added.__name__, added)


def mend_serverless() -> None:
    import moto.emrserverless.models as serverless

    # What AWS says of an application that nobody has used yet; as STARTED it cannot be deleted.
    serverless.APPLICATION_STATUS = "CREATED"

    @replaces(serverless.EMRServerlessBackend, "create_application")
    def create_application(original: Callable[..., Any], backend: Any, **asked: Any) -> Any:
        label = asked["release_label"]
        if label.startswith("emr-spark-"):  # which moto does not know yet
            asked["release_label"] = label.replace("emr-spark-", "emr-")
        application = original(backend, **asked)
        application.release_label = label
        application.architecture = asked.get("architecture") or "X86_64"
        return application


def mend_ec2() -> None:
    from moto.ec2.models.security_groups import SecurityGroupRule

    # moto keeps the description of a rule for a group, and shows only that of one for addresses.
    def description(rule: Any) -> str | None:
        shown: str | None = (rule.source_group or rule.ip_range).get("Description")
        return shown

    setattr(SecurityGroupRule, "description", property(description))  # noqa: B010 - not ours


def mend_s3() -> None:
    from moto.iam.access_control import PermissionResult
    from moto.s3.models import FakeBucket
    from moto.s3.responses import S3Response

    # moto names the answer's root otherwise than AWS, and pyarrow takes that for an error.
    @replaces(S3Response, "serialized")
    def serialized(original: Callable[..., Any], call: Any, result: Any) -> Any:
        status, headers, body = original(call, result)
        if call.data.get("Action") == "CompleteMultipartUpload" and isinstance(body, str):
            body = body.replace("CompleteMultipartUploadResponse", "CompleteMultipartUploadResult")
        return status, headers, body

    # A bucket that admits TLS only would shut out everybody: the lab has none.
    @replaces(FakeBucket, "get_permission")
    def get_permission(original: object, bucket: object, action: str, resource: str) -> Any:
        return PermissionResult.NEUTRAL


def replaces(owner: type, name: str) -> Callable[[Callable[..., Any]], None]:
    """Put a function in a method's place, which it gets as its first argument."""

    def put(replacement: Callable[..., Any]) -> None:
        original = getattr(owner, name)

        @functools.wraps(original)
        def method(self: Any, *arguments: Any, **named: Any) -> Any:
            return replacement(original, self, *arguments, **named)

        setattr(owner, name, method)

    return put


if __name__ == "__main__":
    serve(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
