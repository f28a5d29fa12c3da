"""What tests of every folder share: TPC-H data, made once and kept; BIRD, where it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bothends.infra import tpch
from bothends.infra.dataset import Dataset


@pytest.fixture(scope="session")
def bird() -> Path:
    """BIRD's directory: that of the dev.json that $BOTHENDS_BIRD_DEV names, or one beside ours."""
    named = os.environ.get("BOTHENDS_BIRD_DEV")
    path = Path(named) if named else Path(__file__).parents[2] / "shared" / "bird" / "dev.json"
    if not path.exists():
        pytest.skip("BIRD is not here: BOTHENDS_BIRD_DEV does not name its dev.json")
    return path if path.is_dir() else path.parent


@pytest.fixture(scope="session")
def tpch_dataset(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Dataset:
    """TPC-H at scale factor 0.01, in $BOTHENDS_TEST_DATA or else in pytest's own cache."""
    if "BOTHENDS_TEST_DATA" in os.environ:
        root = Path(os.environ["BOTHENDS_TEST_DATA"])
    elif hasattr(request.config, "cache"):
        root = request.config.cache.mkdir("bothends")
    else:  # pytest was told to keep no cache
        root = tmp_path_factory.mktemp("data")
    return tpch.tpch_dataset(0.01, root)
