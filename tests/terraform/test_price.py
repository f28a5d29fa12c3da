"""The dollars that terraform/ states: README's, those of a plan, and the cost model's are one."""

from __future__ import annotations

import re

import pytest

from bothends.infra.engine_price import Machine
from bothends.infra.prices import PriceBook

from .conftest import ROOT, Terraform, variables

FOLDER = ROOT / "terraform"


def usd_per_hour(words: str) -> float:
    price = PriceBook.load().engine(words)
    assert isinstance(price, Machine)
    return price.usd_per_hour


def settings(text: str) -> dict[str, str]:
    return dict(re.findall(r'^(\w+)\s*= "?([\w.]+)"?$', text, re.M))


def words(of: dict[str, str]) -> str:
    return (
        f"emr:{of['primary_instance_type']}+{of['core_instance_count']}x{of['core_instance_type']}"
        f"?ebs_gb={of['ebs_gb']}"
    )


def test_readme_states_what_the_cost_model_says() -> None:
    stated = dict(re.findall(r"`(emr:\S+)` \| \$([\d.]+) \|", (FOLDER / "README.md").read_text()))
    defaults = {
        name: default.strip('"')
        for name, (*_, default) in variables(FOLDER / "variables.tf").items()
    }
    paper = settings((FOLDER / "paper.tfvars").read_text())
    assert list(stated) == [words(defaults), words(defaults | paper)]
    for each, usd in stated.items():
        assert usd == f"{usd_per_hour(each):.{len(usd.partition('.')[2])}f}"


@pytest.mark.slow
def test_the_plan_of_the_papers_cluster(terraform: Terraform, lab: str) -> None:
    arguments = ["-var-file=paper.tfvars", "-var=owner=us", "-var=expires=2030-01-31"]
    plan = terraform.must("plan", "-refresh=false", *arguments, url=lab)
    core = re.search(r"\+ core_instance_group \{.*?\n {8}\}", plan, re.S)
    primary = re.search(r"\+ master_instance_group \{.*?\n {8}\}", plan, re.S)
    assert core is not None
    assert primary is not None
    for group, count in ((core[0], 32), (primary[0], 1)):
        shown = dict(re.findall(r'\+ (\w+) += "?([\w.]+)"?', group))
        assert shown["instance_type"] == "r5b.xlarge"
        assert (shown["instance_count"], shown["size"], shown["type"]) == (str(count), "128", "gp3")
    outputs = dict(re.findall(r'^  \+ (\w+) += "?([^"\n]+)"?$', plan, re.M))
    # By hand: 33 nodes at 0.298, EMR's fee of a quarter of that, and 128 GB at 0.08 a month.
    by_hand = 33 * (0.298 * 1.25 + 128 * 0.08 / 720)
    assert float(outputs["usd_per_hour"]) == pytest.approx(by_hand, abs=1e-6)
    assert usd_per_hour(outputs["price"]) == usd_per_hour("paper-emr")
    assert usd_per_hour("paper-emr") == pytest.approx(by_hand)
