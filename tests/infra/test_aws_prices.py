"""Prices from the AWS Pricing API, as botocore's own stub answers, and the file made of them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bothends.infra.aws_prices import aws_prices, write_price_file
from bothends.infra.engine_price import Machine
from bothends.infra.errors import MissingExtraError, PriceError, UsageError
from bothends.infra.price_lists import PriceFile
from bothends.infra.prices import PriceBook

boto3 = pytest.importorskip("boto3")


NO_ACCOUNT = {
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_SHARED_CREDENTIALS_FILE": "none",
    "AWS_CONFIG_FILE": "none",
}


@pytest.fixture(autouse=True)
def _no_account(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in NO_ACCOUNT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)


@pytest.fixture
def stub() -> Iterator[Any]:
    from botocore.stub import Stubber

    keys = dict.fromkeys(("aws_access_key_id", "aws_secret_access_key"), "none")
    client = boto3.client("pricing", region_name="us-east-1", **keys)
    with Stubber(client) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


def offer(usd: str, unit: str = "Hrs") -> str:
    dimension = {"unit": unit, "description": "...", "pricePerUnit": {"USD": usd}}
    terms = {"OnDemand": {"SKU.TERM": {"sku": "SKU", "priceDimensions": {"SKU.T.D": dimension}}}}
    return json.dumps({"product": {"sku": "SKU", "attributes": {}}, "terms": terms})


def asked(service: str, **fields: str) -> dict[str, Any]:
    filters = [{"Type": "TERM_MATCH", "Field": k, "Value": v} for k, v in fields.items()]
    return {"ServiceCode": service, "Filters": filters}


def ec2(kind: str) -> dict[str, Any]:
    return asked(
        "AmazonEC2",
        regionCode="eu-west-1",
        instanceType=kind,
        operatingSystem="Linux",
        tenancy="Shared",
        preInstalledSw="NA",
        capacitystatus="Used",
    )


def emr(kind: str) -> dict[str, Any]:
    return asked("ElasticMapReduce", regionCode="eu-west-1", instanceType=kind, softwareType="EMR")


GP3 = asked("AmazonEC2", regionCode="eu-west-1", productFamily="Storage", volumeApiName="gp3")


def test_what_is_asked_and_what_becomes_of_it(stub: Any, tmp_path: Path) -> None:
    stub.add_response("get_products", {"PriceList": [offer("0.0880", "GB-Mo")]}, GP3)
    # A reservation's placeholder costs 0 and is no price; the second page holds the price.
    stub.add_response(
        "get_products", {"PriceList": [offer("0.0")], "NextToken": "more"}, ec2("m5.xlarge")
    )
    stub.add_response(
        "get_products",
        {"PriceList": [offer("0.2140")]},
        {**ec2("m5.xlarge"), "NextToken": "more"},
    )
    stub.add_response("get_products", {"PriceList": [offer("0.0480")]}, emr("m5.xlarge"))
    stub.add_response("get_products", {"PriceList": [offer("1.1230")]}, ec2("g5.xlarge"))
    stub.add_response("get_products", {"PriceList": []}, emr("g5.xlarge"))
    prices = aws_prices(["m5.xlarge", "g5.xlarge"], "eu-west-1", client=stub.client)
    assert {name: each.usd_per_hour for name, each in prices.machines.items()} == {
        "m5.xlarge": 0.214,
        "g5.xlarge": 1.123,
    }
    assert prices.emr == {"m5.xlarge": 0.048}
    assert prices.ebs_usd_per_gb_month == 0.088

    file = tmp_path / "prices.yaml"
    write_price_file(prices, file)
    write_price_file(prices, file)  # its own file it may replace
    machine = PriceBook.load(file).machine("m5.xlarge")
    assert machine.usd_per_hour == 0.214
    assert machine.source.startswith("AWS Pricing API, on demand, Linux, eu-west-1, 20")
    cluster = PriceBook.load(file).engine("emr:m5.xlarge?ebs_gb=720")
    assert isinstance(cluster, Machine)
    assert cluster.usd_per_hour == pytest.approx(0.214 + 0.048 + 0.088)


def test_a_file_of_ones_own_is_never_replaced(tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text("machines: {lab: {usd_per_hour: 1}}\n")
    with pytest.raises(UsageError, match="another name"):
        write_price_file(PriceFile(), file)
    assert "lab" in file.read_text()
    with pytest.raises(UsageError, match="cannot be written"):
        write_price_file(PriceFile(), tmp_path / "none" / "prices.yaml")


@pytest.mark.parametrize(
    ("offers", "message"),
    [
        ([], "no price for m5.xlarge in eu-west-1"),
        ([offer("0.2"), offer("0.3")], r"several prices for m5.xlarge in eu-west-1: 0\.2, 0\.3"),
        (["{}"], "not as it should be"),
        (["no JSON"], "not as it should be"),
    ],
)
def test_an_answer_that_is_no_price(stub: Any, offers: list[str], message: str) -> None:
    stub.add_response("get_products", {"PriceList": [offer("0.1", "GB-Mo")]}, GP3)
    stub.add_response("get_products", {"PriceList": offers}, ec2("m5.xlarge"))
    with pytest.raises(PriceError, match=message):
        aws_prices(["m5.xlarge"], "eu-west-1", client=stub.client)


def test_a_refusal_is_explained(stub: Any) -> None:
    stub.add_client_error("get_products", "AccessDeniedException", "not authorized")
    with pytest.raises(PriceError, match=r"AccessDenied.*pricing:GetProducts"):
        aws_prices(["m5.xlarge"], "eu-west-1", client=stub.client)


def test_without_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PriceError, match=r"credentials.*AWS_PROFILE"):
        aws_prices(["m5.xlarge"], "eu-west-1")
    monkeypatch.setenv("AWS_PROFILE", "nobodys")
    with pytest.raises(PriceError, match=r"nobodys.*AWS_PROFILE"):
        aws_prices(["m5.xlarge"], "eu-west-1")


def test_without_boto3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(MissingExtraError, match=r"boto3.*bothends\[aws\]"):
        aws_prices(["m5.xlarge"], "eu-west-1")
