"""The command `bothends prices refresh`, against a server that speaks the Pricing API."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from typer.testing import CliRunner

from bothends.cli import app
from bothends.infra.engine_price import Machine
from bothends.infra.prices import PriceBook

pytest.importorskip("boto3")

USD = {"gp3": "0.09", "m5.xlarge": "0.2", "r5.xlarge": "0.3"}


class PricingApi(BaseHTTPRequestHandler):
    """Answers a fifth of EC2's price for EMR, and an hour's or a month's price else."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        values = {each["Value"] for each in asked["Filters"]}
        usd = next(float(usd) for name, usd in USD.items() if name in values)
        usd /= 5 if asked["ServiceCode"] == "ElasticMapReduce" else 1
        price = {"unit": "Hrs", "pricePerUnit": {"USD": f"{usd:.10f}"}}
        offer = {"terms": {"OnDemand": {"a": {"priceDimensions": {"b": price}}}}}
        body = json.dumps({"FormatVersion": "aws_v1", "PriceList": [json.dumps(offer)]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/x-amz-json-1.1")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@pytest.fixture
def api() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), PricingApi) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_refresh_writes_a_price_file(
    api: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_PRICING", api)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "none")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "none")
    file = tmp_path / "aws.yaml"
    arguments = ["prices", "refresh", "--out", str(file), "--type", "m5.xlarge,r5.xlarge"]
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code == 0
    assert "2 machines, EMR's fee for 2 of them" in done.output
    cluster = PriceBook.load(file).engine("emr:m5.xlarge+2xr5.xlarge?ebs_gb=240")
    assert isinstance(cluster, Machine)
    # 0.2 + 2 * 0.3 on EC2 and a fifth of it; 720 GB for an hour of 720.
    assert cluster.usd_per_hour == pytest.approx(0.8 * 1.2 + 0.09)
