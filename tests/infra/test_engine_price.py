"""What an engine's work costs: machines, clusters by their nodes, and bytes scanned."""

from __future__ import annotations

from pathlib import Path

import pytest

from bothends.infra.cluster_cost import CloudRates, Cluster, NodeGroup, parse_cluster
from bothends.infra.engine_price import Machine, ScanPrice
from bothends.infra.errors import UsageError
from bothends.infra.prices import PriceBook

RATES = CloudRates(
    ec2={"big": 1.0, "small": 0.2},
    emr={"big": 0.3},
    emr_share=0.25,
    ebs_usd_per_gb_month=0.072,
)


@pytest.fixture(scope="module")
def book() -> PriceBook:
    return PriceBook.load()


def written(path: Path, text: str) -> Path:
    file = path / "prices.yaml"
    file.write_text(text)
    return file


def test_the_parts_of_a_cluster_add_up_by_hand() -> None:
    cluster = parse_cluster("emr:small+4xbig?ebs_gb=100")
    assert cluster == Cluster("emr", (NodeGroup(1, "small"), NodeGroup(4, "big")), 100.0)
    cost = cluster.cost(RATES)
    # 0.2 and 4 dollars; a quarter of 0.2 where EMR's fee is not listed, 4 times 0.3 where it is;
    # 5 nodes of 100 GB at 0.072 dollars for 720 hours.
    assert cost.ec2_usd == pytest.approx(4.2)
    assert cost.emr_usd == pytest.approx(0.05 + 1.2)
    assert cost.ebs_usd == pytest.approx(500 * 0.0001)
    assert cost.usd_per_hour == pytest.approx(4.2 + 1.25 + 0.05)
    assert cost.fee_unlisted == ("small",)


def test_a_bare_cluster_pays_no_fee() -> None:
    cost = parse_cluster("ec2:2xbig").cost(RATES)
    assert (cost.ec2_usd, cost.emr_usd, cost.ebs_usd) == (2.0, 0.0, 0.0)
    assert cost.fee_unlisted == ()


def test_a_price_of_its_own_is_spots_and_the_fee_stays() -> None:
    cost = parse_cluster("emr:big+4xbig@0.35").cost(RATES)
    assert cost.ec2_usd == pytest.approx(1 + 4 * 0.35)
    assert cost.emr_usd == pytest.approx(5 * 0.3)
    # With a price of its own and a fee that is listed, a type needs no other.
    alone = CloudRates(ec2={}, emr={"rare": 0.1}, emr_share=0.25, ebs_usd_per_gb_month=0)
    assert parse_cluster("emr:2xrare@0.5").cost(alone).usd_per_hour == pytest.approx(1.2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("emr:", "names no nodes"),
        ("emr:big+", "names no nodes"),
        ("emr:0xbig", "1 node or more"),
        ("emr:twoxbig@cheap", "@cheap"),
        ("emr:big@-1", "@-1"),
        ("emr:big@nan", "@nan"),
        ("emr:big?ebs_gb=lots", "ebs_gb=lots"),
        ("emr:big?ebs_gb=-1", "ebs_gb=-1"),
        ("emr:big?ebs_gb=inf", "ebs_gb=inf"),
        ("emr:big?ebs_gb=1&ebs_gb=2", "once"),
        ("emr:big?disk=1", "no option 'disk'; the option is: ebs_gb"),
    ],
)
def test_what_is_no_cluster_is_explained(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_cluster(text)
    assert message in str(caught.value)


def test_an_unknown_type_has_no_price() -> None:
    with pytest.raises(UsageError, match=r"'bog' in emr:bog.*did you mean 'big'\?.*bog@0\.35"):
        parse_cluster("emr:bog").cost(RATES)
    # The fee is a part of the on-demand price: without either it is not known.
    with pytest.raises(UsageError, match=r"EMR's fee for 'rare' is not known.*emr: \{rare:"):
        parse_cluster("emr:rare@0.2").cost(RATES)


def test_the_papers_cluster(book: PriceBook) -> None:
    cluster = book.engine("paper-emr")
    assert isinstance(cluster, Machine)
    # 33 nodes at 0.298 dollars an hour and a quarter more for EMR, 128 GB each at 0.08 a month.
    assert cluster.usd_per_hour == pytest.approx(33 * 0.298 * 1.25 + 33 * 128 * 0.08 / 720)
    assert cluster.describe() == (
        "paper-emr (emr:r5b.xlarge+32xr5b.xlarge?ebs_gb=128) at $12.76183333/h"
    )
    assert "EC2 9.834" in cluster.source
    assert "EMR 2.4585 (25% of EC2's for r5b.xlarge" in cluster.source
    assert "EBS 0.4693" in cluster.source
    # The paper: a query at scale factor 1000 costs about a dollar, which is minutes here.
    assert 120 < 1 / cluster.usd_per_s < 600


def test_a_spec_is_priced_as_its_preset_is(book: PriceBook) -> None:
    named, spelled = book.engine("paper-emr"), book.engine("emr:33xr5b.xlarge?ebs_gb=128")
    assert isinstance(named, Machine)
    assert isinstance(spelled, Machine)
    assert spelled.usd_per_hour == pytest.approx(named.usd_per_hour)
    assert spelled.name == "emr:33xr5b.xlarge?ebs_gb=128"


def test_machines_are_engines_as_before(book: PriceBook) -> None:
    assert book.engine("m7i.xlarge") == book.machine("m7i.xlarge")
    assert book.engine("0.35") == Machine("a machine", 0.35, "price as given")
    assert book.engine("0.36") == Machine("a machine", 0.36, "price as given")
    with pytest.raises(UsageError, match=r"'paper-emt'; did you mean 'paper-emr'\?.*emr:.*scan:"):
        book.engine("paper-emt")


def test_scanned_bytes_by_hand() -> None:
    price = ScanPrice("athena", 5.0, 10, "a page")
    tb, mb = 1024**4, 1024**2
    assert price.query_usd(tb) == 5.0
    assert price.query_usd(3 * tb) == 15.0
    # At least 10 MB, and whole megabytes.
    least = 5 * 10 / 1024**2
    assert price.query_usd(0) == price.query_usd(1) == price.query_usd(10 * mb) == least
    assert price.query_usd(10 * mb + 1) == pytest.approx(least * 1.1)
    assert price.query_usd(None) is None
    assert price.describe() == "athena at $5 per TB scanned, 10 MB a query at least"


def test_scans_by_name_and_by_spec(book: PriceBook) -> None:
    athena = book.engine("athena")
    assert isinstance(athena, ScanPrice)
    assert (athena.usd_per_tb, athena.least_mb) == (5.0, 10)
    assert "20" in athena.source
    own = book.engine("scan:6.25")
    assert own == ScanPrice("scan:6.25", 6.25, 0, "price as given")
    for wrong in ("scan:", "scan:dear", "scan:-1", "scan:5?least_mb=x", "scan:5?minimum=1"):
        with pytest.raises(UsageError, match="scan:"):
            book.engine(wrong)


def test_a_price_file_changes_the_cloud(tmp_path: Path) -> None:
    book = PriceBook.load(
        written(
            tmp_path,
            """
            machines:
              r5b.xlarge: {usd_per_hour: 0.2}
            emr: {r5b.xlarge: 0.04}
            ebs_usd_per_gb_month: 0.72
            engines:
              ours: {price: "emr:2xr5b.xlarge?ebs_gb=10", source: our contract}
              lake: {price: "scan:4?least_mb=1"}
            """,
        )
    )
    ours = book.engine("ours")
    assert isinstance(ours, Machine)
    assert ours.usd_per_hour == pytest.approx(2 * 0.24 + 20 * 0.001)
    assert ours.source.endswith("; our contract")
    lake = book.engine("lake")
    assert isinstance(lake, ScanPrice)
    assert (lake.usd_per_tb, lake.least_mb, lake.source) == (4.0, 1, "price file prices.yaml")
    cluster = book.engine("paper-emr")
    assert isinstance(cluster, Machine)
    assert cluster.usd_per_hour == pytest.approx(33 * 0.24 + 33 * 128 * 0.001)


def test_the_snapshot_keeps_what_a_scan_costs(book: PriceBook) -> None:
    machines = book.snapshot([], [book.engine("athena"), book.engine("paper-emr")])["machines"]
    assert machines["athena"]["usd_per_tb"] == 5.0
    assert machines["athena"]["least_mb"] == 10
    assert machines["paper-emr (emr:r5b.xlarge+32xr5b.xlarge?ebs_gb=128)"][
        "usd_per_hour"
    ] == pytest.approx(12.7618, abs=1e-4)


def test_a_machine_may_have_another_name(tmp_path: Path) -> None:
    file = written(tmp_path, 'engines: {server: {price: "0.5", source: invoice}}')
    server = PriceBook.load(file).engine("server")
    assert server == Machine("server (a machine)", 0.5, "invoice")
    file = written(tmp_path, "engines: {server: {price: mainframe}}")
    with pytest.raises(UsageError, match="'mainframe'"):
        PriceBook.load(file).engine("server")
