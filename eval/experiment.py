"""What is to be run: the resolved configuration of a run directory."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    field_serializer,
    field_validator,
    model_validator,
)

from bothends.agent.recipe import Recipe
from bothends.agent.retry import RetryPolicy
from bothends.agent.sampling import Sampling
from bothends.engines.registry import without_password
from bothends.eval.suites.base import Question, Suite
from bothends.eval.suites.registry import SMALLEST_SCALE, is_scaled, load_suite
from bothends.infra.dataset import Dataset
from bothends.infra.errors import UsageError
from bothends.infra.redact import safe_address
from bothends.tools.preflight import Preflight

__all__ = ["Billing", "Experiment", "Regimen"]

Billing = Literal["busy", "wall"]


class Regimen(BaseModel):
    """How gold and generated queries are timed. Both are treated alike."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    warmups: int = Field(
        1, ge=0, description="Untimed executions of each query before the timed ones."
    )
    repeats: int = Field(
        3, ge=0, description="Timed executions of each, gold and generated in turn; 0: untimed."
    )


class Experiment(BaseModel):
    """What is run: all that decides what it measures, and how it is carried out."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    CONDUCT: ClassVar[frozenset[str]] = frozenset(
        {"data", "concurrency", "budget_usd", "budget_tokens", "retry", "transcripts"}
    )
    """What bears on how a run is carried out and not on what it measures: it may change on the way.
    """

    SCORING: ClassVar[frozenset[str]] = frozenset(
        {"task", "digests", "priced_as", "gold_timeout_s", "workers"}
    )
    """What scoring predictions needs and an agent's run does not: no part of an experiment's file.
    """

    SELECTION: ClassVar[frozenset[str]] = frozenset(
        {
            "question_ids",
            "databases",
            "difficulties",
            "sample",
            "sample_seed",
            "models",
            "replicas",
        }
    )
    """What says which trials there are, and bears on none of them."""

    task: Literal["run", "score"] = Field(
        "run", description="run: agents answer; score: predictions made elsewhere are judged."
    )
    suite: str = Field(
        examples=["tpch"], description="The suite's name: tpch, bird, spider, or a file's path."
    )
    question_ids: tuple[str, ...] | None = Field(
        None, description="The questions to ask; null for all of the suite."
    )
    databases: tuple[str, ...] | None = Field(
        None, description="Only questions over these databases; null for all."
    )
    difficulties: tuple[str, ...] | None = Field(
        None, description="Only questions of these difficulties; null for all."
    )
    sample: int | None = Field(
        None, ge=1, description="How many of the questions that remain are drawn; null for all."
    )
    sample_seed: int = Field(0, description="The seed of that draw.")
    engine: str = Field(examples=["sqlite"], description="The engine: a name or a URL.")
    scale_factor: float | None = Field(
        None, gt=0, description="The data's scale factor; null where the suite has none."
    )
    data: Path = Field(Path("data"), description="The directory that holds the data.")
    models: tuple[str, ...] = Field(
        min_length=1,
        examples=[["scripted:perfect"]],
        description="The controllers, each `provider:model?option=value`, or the predictions.",
    )
    digests: tuple[str, ...] = Field((), description="SHA-256 of each file of predictions.")
    priced_as: tuple[str, ...] = Field(
        (), description="The `provider:model` whose prices each file's tokens are charged."
    )
    checker: str | None = Field(
        None, description="The checker's model; null for the controller's own."
    )
    base_url: str | None = Field(
        None, description="Address of an OpenAI-compatible server for the hosted models."
    )
    sampling: Sampling = Field(
        default_factory=Sampling, description="What the hosted models sample with."
    )
    recipe: Recipe = Field(default_factory=Recipe, description="How the agent goes about it.")
    replicas: int = Field(1, ge=1, description="How often each question is asked of each model.")
    concurrency: int = Field(1, ge=1, description="Trials that are under way at the same time.")
    engine_slots: int = Field(
        1,
        ge=1,
        description="Engines, each of which serves one query at a time. More than one disturb one "
        "another's timings. Waiting for one is no part of a trial's time.",
    )
    budget_usd: float | None = Field(
        None, gt=0, description="Dollars that all trials may cost, model and engine; null: any."
    )
    budget_tokens: int | None = Field(
        None, gt=0, description="Tokens that all trials may take; null: any."
    )
    retry: RetryPolicy = Field(
        default_factory=RetryPolicy, description="How faults of the models' providers are retried."
    )
    timeout_s: float = Field(300.0, gt=0, description="Seconds that one query may take.")
    gold_timeout_s: float | None = Field(
        None, gt=0, description="Seconds that gold may take, where these are others."
    )
    max_rows: int = Field(100_000, ge=1, description="Rows of a result that are kept and judged.")
    preflight: Preflight = Field(
        default_factory=Preflight,
        description="What an agent's query is refused for before it runs (status rejected), by the "
        "engine's EXPLAIN, whose seconds belong to run_query. Gold is never refused.",
    )
    regimen: Regimen = Field(default_factory=Regimen, description="How queries are timed.")
    workers: int = Field(1, ge=1, description="Processes that execute queries at the same time.")
    machine: str = Field(
        "m7i.large",
        description="What the engine's work is charged at: a machine of the price table "
        "(m7i.large), dollars per hour (0.35), a cluster's nodes "
        "(emr:r5b.xlarge+32xr5b.xlarge?ebs_gb=128), dollars per terabyte scanned (scan:5), or a "
        "name for one of these (paper-emr).",
    )
    billing: Billing = Field(
        "busy",
        description="busy: the seconds the engine worked; wall: from the question to the answer.",
    )
    prices: Path | None = Field(None, description="YAML file of prices that override the bundled.")
    transcripts: bool = Field(
        True, description="Whether the conversations are kept, compressed; if not, only the SQL is."
    )
    redact: str | None = Field(
        None,
        pattern=r"^[^:\s]+:[^:\s]+$",
        description="A Python function, `module:function`, that is given each result cell's column "
        "and value before a model sees it or it is kept, and returns what takes its place.",
    )

    @model_validator(mode="before")
    @classmethod
    def _default_scale_factor(cls, values: Any) -> Any:
        """Give a suite that has scale factors the smallest, where none is asked for."""
        if isinstance(values, dict) and values.get("scale_factor") is None:
            suite = values.get("suite")
            if isinstance(suite, str) and _scaled(suite):
                return {**values, "scale_factor": SMALLEST_SCALE}
        return values

    @model_validator(mode="after")
    def _recipe_fits(self) -> Self:
        """Refuse a recipe's idle settings now, and not when the first agent is made."""
        self.recipe.refuse_idle()
        if self.checker is not None and self.recipe.check not in {"llm", "both"}:
            raise UsageError(
                f"--check {self.recipe.check} asks no checker: leave --checker out, or take "
                "--check llm or both"
            )
        return self

    @field_validator("base_url")
    @classmethod
    def _no_secret(cls, address: str | None) -> str | None:
        return address and safe_address(address)

    @model_validator(mode="after")
    def _timed(self) -> Experiment:
        """An agent's query is always timed: T_gold and T_gen are part of what is measured."""
        if self.task == "run" and not self.regimen.repeats:
            raise ValueError("regimen.repeats must be 1 or more")
        return self

    def measured(self) -> dict[str, Any]:
        """Return what decides what is measured, by field; two runs with the same are the same."""
        return self.model_dump(mode="json", exclude=set(self.CONDUCT))

    def load_suite(self) -> Suite:
        """Return the suite, with its data directory.

        Raises:
            UsageError: If there is no such suite, or it has no scale factors and one is given.
        """
        suite = load_suite(self.suite, self.data, self.engine)
        if self.scale_factor is not None and not suite.scaled:
            raise UsageError(f"suite {self.suite!r} has no scale factors: leave --scale-factor out")
        return suite

    def select(self, suite: Suite) -> tuple[Question, ...]:
        """Return the questions that this experiment asks.

        Raises:
            UsageError: If the suite lacks what is asked for.
        """
        return suite.select(
            self.question_ids,
            databases=self.databases,
            difficulties=self.difficulties,
            sample=self.sample,
            seed=self.sample_seed,
        )

    def dataset(self, suite: Suite, database: str, *, generate: bool = True) -> Dataset | None:
        """Return a database of the suite; None where the engine's address says where the data is.

        Raises:
            DataError: If it is missing.
        """
        return suite.dataset_on(
            self.engine, self.scale_factor, self.data, database, generate=generate
        )

    def excluded(self, suite: Suite) -> dict[str, str]:
        """Return the questions that it would ask and the suite leaves out, with the reasons."""
        return {
            each.question.id: each.reason
            for each in suite.excluded
            if self.question_ids is None
            and (self.databases is None or each.question.database in self.databases)
            and (self.difficulties is None or each.question.difficulty in self.difficulties)
        }

    @field_serializer("engine")
    def _recorded_engine(self, engine: str) -> str:
        return without_password(engine)


def _scaled(suite: str) -> bool:
    # A manifest stays readable where its suite's file is gone.
    try:
        return is_scaled(suite)
    except UsageError:
        return False
