"""The whole module made, found unchanged, grown and destroyed, on the lab's AWS.

It mostly waits: half a minute for a cluster each way, and longer for a bucket's lifecycle.
That the lab takes it does not prove that AWS does: it knows no permissions and no capacity.
"""

from __future__ import annotations

import json
from typing import Any

import boto3
import pytest

from .aws_lab import ACCOUNT_ID, environment
from .conftest import Terraform

pytestmark = [pytest.mark.slow, pytest.mark.cloud, pytest.mark.xdist_group("waiting")]

BUCKET = f"lab-{ACCOUNT_ID}-us-east-1"

VARIABLES = [
    "-var=name=lab",
    "-var=owner=us",
    "-var=expires=2030-01-31",
    "-var=core_instance_count=3",
    "-var=serverless=true",
    '-var=budget_emails=["someone@example.org"]',
]


def client(service: str, url: str) -> Any:
    keys = environment(url)
    return boto3.client(
        service,
        endpoint_url=url,
        region_name=keys["AWS_REGION"],
        aws_access_key_id=keys["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=keys["AWS_SECRET_ACCESS_KEY"],
    )


def core_nodes(url: str, cluster_id: str) -> int:
    groups = client("emr", url).list_instance_groups(ClusterId=cluster_id)["InstanceGroups"]
    (core,) = (group for group in groups if group["InstanceGroupType"] == "CORE")
    assert core["Market"] == "ON_DEMAND"
    return int(core["RequestedInstanceCount"])


def test_made_unchanged_grown_and_destroyed(terraform: Terraform, lab: str) -> None:
    try:
        terraform.must("apply", "-auto-approve", *VARIABLES, url=lab)
        outputs = json.loads(terraform.must("output", "-json", url=lab))
        cluster_id = outputs["cluster_id"]["value"]
        look_at_what_was_made(lab, cluster_id, outputs["kms_key_arn"]["value"])

        again = terraform.run("plan", "-detailed-exitcode", "-no-color", *VARIABLES, url=lab)
        assert again.returncode == 0, again.stdout + again.stderr
        assert "No changes." in again.stdout

        # A later value goes before an earlier one. The data in the bucket is to go with it.
        then = [*VARIABLES, "-var=core_instance_count=5", "-var=force_destroy=true"]
        grown = terraform.must("apply", "-auto-approve", "-refresh=false", *then, url=lab)
        assert "0 added, 2 changed, 0 destroyed" in grown
        assert core_nodes(lab, cluster_id) == 5
        client("s3", lab).put_object(Bucket=BUCKET, Key="data/part-0.parquet", Body=b"rows")
    finally:
        gone = terraform.must("destroy", "-auto-approve", "-refresh=false", *VARIABLES, url=lab)
    assert "Destroy complete!" in gone
    assert terraform.must("state", "list", url=lab) == ""
    emr = client("emr", lab)
    assert emr.describe_cluster(ClusterId=cluster_id)["Cluster"]["Status"]["State"] == "TERMINATED"
    assert client("s3", lab).list_buckets()["Buckets"] == []
    vpcs = client("ec2", lab).describe_vpcs()["Vpcs"]
    assert [vpc for vpc in vpcs if not vpc["IsDefault"]] == []


def look_at_what_was_made(lab: str, cluster_id: str, key: str) -> None:
    emr = client("emr", lab)
    made = emr.describe_cluster(ClusterId=cluster_id)["Cluster"]
    assert core_nodes(lab, cluster_id) == 3
    assert made["AutoTerminate"] is False
    policy = emr.get_auto_termination_policy(ClusterId=cluster_id)["AutoTerminationPolicy"]
    assert policy == {"IdleTimeout": 3600}
    assert made["LogUri"] == f"s3://{BUCKET}/logs/"
    tags = {each["Key"]: each["Value"] for each in made["Tags"]}
    assert (tags["Owner"], tags["Expires"]) == ("us", "2030-01-31")
    assert tags["for-use-with-amazon-emr-managed-policies"] == "true"

    said = emr.describe_security_configuration(Name=made["SecurityConfiguration"])
    encryption = json.loads(said["SecurityConfiguration"])["EncryptionConfiguration"]
    disks = encryption["AtRestEncryptionConfiguration"]["LocalDiskEncryptionConfiguration"]
    assert disks == {
        "EncryptionKeyProviderType": "AwsKms",
        "AwsKmsKey": key,
        "EnableEbsEncryption": True,
    }
    assert encryption["EnableInTransitEncryption"] is False  # no certificates; Spark does it

    (step,) = emr.list_steps(ClusterId=cluster_id)["Steps"]
    *_, script, port, idle_s = step["Config"]["Args"]
    assert (port, idle_s) == ("15002", "1800")
    (bucket, _, name) = script.removeprefix("s3://").partition("/")
    body = client("s3", lab).get_object(Bucket=bucket, Key=name)["Body"].read()
    assert body.startswith(b"#!/usr/bin/env bash")

    # The key's ARN is not known in a plan, so that these policies can only be read here.
    iam = client("iam", lab)
    for role in ("lab-service", "lab-nodes", "lab-jobs"):
        document = iam.get_role_policy(RoleName=role, PolicyName="key")["PolicyDocument"]
        for statement in document["Statement"]:
            assert statement["Resource"] == key
            actions = statement["Action"]
            assert "*" not in "".join([actions] if isinstance(actions, str) else actions)
