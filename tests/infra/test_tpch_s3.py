"""TPC-H on S3: the same files and manifest as here, and errors that say what to set."""

from __future__ import annotations

import json
import shutil
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path

import pytest

from bothends.infra.errors import DataError
from bothends.infra.tpch import make_tpch
from bothends.infra.tpch_s3 import make_tpch_on_s3

from .s3_server import S3Server, s3_server

PARTS = 120_000
"""Bytes of a part that cut lineitem, and no other table, at scale factor 0.001: in two."""
PLACE = "some/where/tpch/sf0.001"


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[S3Server]:
    with s3_server() as server:
        for name, value in {
            "AWS_ENDPOINT_URL": server.url,
            "AWS_ACCESS_KEY_ID": server.allowed,
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_CONFIG_FILE": str(tmp_path / "none"),
            "AWS_EC2_METADATA_DISABLED": "true",
        }.items():
            monkeypatch.setenv(name, value)
        yield server


def test_a_bucket_gets_what_a_directory_gets_and_what_it_lost_again(
    s3: S3Server, tmp_path: Path
) -> None:
    here = make_tpch(0.001, tmp_path, part_bytes=PARTS).directory
    address, manifest = make_tpch_on_s3(0.001, "s3://lake/some/where/", part_bytes=PARTS)
    assert address == "s3://lake/some/where/tpch/sf0.001"
    files = {
        f"{PLACE}/{path.relative_to(here).as_posix()}": path.read_bytes()
        for path in here.rglob("*")
        if path.is_file()
    }
    assert len(files) == 7 + 2 + 1
    assert json.loads(files[f"{PLACE}/manifest.json"]) == manifest.model_dump()
    assert {key: content for key, content in s3.objects.items() if key[-1] != "/"} == files
    # Only tables that are missing or damaged are sent again.
    del s3.objects[f"{PLACE}/part.parquet"]
    s3.objects[f"{PLACE}/lineitem/lineitem.2.parquet"] = b"half"
    s3.objects[f"{PLACE}/lineitem/lineitem.9.parquet"] = b"of another number of parts"
    s3.written.clear()
    make_tpch_on_s3(0.001, "s3://lake/some/where", part_bytes=PARTS)
    assert {key for key in s3.written if key.endswith(".parquet")} == {
        f"{PLACE}/part.parquet",
        *(f"{PLACE}/lineitem/lineitem.{part}.parquet" for part in (1, 2)),
    }
    assert {key: content for key, content in s3.objects.items() if key[-1] != "/"} == files
    s3.written.clear()
    make_tpch_on_s3(0.001, "s3://lake/some/where", part_bytes=PARTS)
    assert s3.written == []


def test_a_bucket_that_is_not_there_is_named(s3: S3Server) -> None:
    with pytest.raises(DataError, match=r"there is no bucket pond to write to; create it"):
        make_tpch_on_s3(0.001, "s3://pond/x")


@pytest.mark.parametrize("key", ["somebody else", None])
def test_without_the_right_keys_it_says_what_to_set(
    key: str | None, s3: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    if key is None:
        monkeypatch.delenv("AWS_ACCESS_KEY_ID")
        monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    else:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", key)
    with pytest.raises(DataError, match=r"ACCESS_DENIED.*; set AWS_ACCESS_KEY_ID and AWS_SECRET"):
        make_tpch_on_s3(0.001, "s3://lake/x")
    assert s3.objects == {}


@pytest.mark.parametrize(
    ("endpoint", "what"),
    [("http://127.0.0.1:9", "NETWORK_CONNECTION"), ("gopher://127.0.0.1", "Invalid S3 .*scheme")],
)
def test_without_a_network_it_says_what_to_check(
    endpoint: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    with pytest.raises(DataError, match=rf"{what}.*; check the network, set AWS_REG"):
        make_tpch_on_s3(0.001, "s3://lake/x")


@pytest.mark.parametrize("address", ["s3://", "s3:///key", "s3://a/b", "s3:/lake/x", "s3://la ke"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(DataError, match=r"is no address in S3; write s3://bucket/prefix$"):
        make_tpch_on_s3(0.001, address)


def test_one_file_at_a_time_needs_room_here(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(9e12, 9e12, 100_000_000))
    with pytest.raises(DataError, match=r"making the tables takes about 0\.1 GB and .* 0\.1 GB fr"):
        make_tpch_on_s3(1000, "s3://lake/x")
    assert s3.objects == {}
