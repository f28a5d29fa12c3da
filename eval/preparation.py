"""What a run needs before its first trial: its models, its manifest, what its trials share."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from bothends.engines import Fingerprint, Limits
from bothends.engines.slots import EngineSlots
from bothends.eval.cost import describe_pricing
from bothends.eval.experiment import Experiment
from bothends.eval.grounds import fingerprint_digest
from bothends.eval.manifest import Manifest, ModelTerms, QuestionTerms
from bothends.eval.suites.base import Suite
from bothends.infra.errors import UsageError
from bothends.infra.prices import EnginePrice, PriceBook, Pricing, TokenPricing
from bothends.infra.system import describe_hardware, package_versions

if TYPE_CHECKING:
    from bothends.agent.models.base import Model
    from bothends.eval.assessment import Terms
    from bothends.tools.text import Redaction

__all__ = ["describe_run", "load_models", "terms_of"]

_LABEL_CHARACTERS: Final = 80


def load_models(
    experiment: Experiment, prices: PriceBook
) -> tuple[tuple[Model, ...], Model | None]:
    """Return the controllers of an experiment, and its checker where that is another model.

    Raises:
        BothendsError: If one cannot be had, or two have the same name.
    """
    from bothends.agent.models.registry import load_model

    def load(spec: str) -> Model:
        return load_model(
            spec, prices=prices, base_url=experiment.base_url, sampling=experiment.sampling
        )

    models = tuple(map(load, experiment.models))
    _check_labels(models)
    return models, load(experiment.checker) if experiment.checker else None


def describe_run(
    experiment: Experiment,
    name: str,
    suite: Suite,
    asked: tuple[QuestionTerms, ...],
    models: Sequence[Model],
    fingerprint: Fingerprint,
    databases: Mapping[str, str],
    prices: PriceBook,
    machine: EnginePrice,
) -> Manifest:
    """Return the manifest of a run that is about to start.

    Args:
        experiment: What is run.
        name: The run's name.
        suite: The suite.
        asked: The questions.
        models: The controllers.
        fingerprint: The engine's, over the first database.
        databases: The digest of each database, where there are several.
        prices: What tokens cost.
        machine: What the engine's work costs.
    """
    ground = asdict(fingerprint)
    return Manifest(
        name=name,
        created_at=_now(),
        experiment=experiment,
        models=tuple(
            ModelTerms(
                spec=model.spec,
                label=model.label,
                kind=model.kind,
                description=model.description,
                priced_by=describe_pricing(model.pricing, prices),
                sampling=dict(model.sampling),
            )
            for model in models
        ),
        questions=asked,
        excluded=experiment.excluded(suite),
        fingerprint=fingerprint_digest(ground, databases),
        engine=ground,
        databases=dict(databases),
        machine=machine.describe(),
        prices=prices.snapshot(
            [*(model.pricing for model in models), *_embedding_pricing(experiment)], [machine]
        ),
        versions=package_versions(),
        hardware=describe_hardware(),
    )


def _embedding_pricing(experiment: Experiment) -> Iterator[Pricing]:
    embeddings = experiment.recipe.embeddings
    if embeddings is not None and embeddings.priced_as is not None:
        provider, _, model = embeddings.priced_as.partition(":")
        yield TokenPricing(provider, model)


def terms_of(
    experiment: Experiment,
    slots: EngineSlots,
    manifest: Manifest,
    prices: PriceBook,
    machine: EnginePrice,
    redaction: Redaction | None,
) -> Terms:
    """Return what the trials of a run over one database have in common."""
    from bothends.eval.assessment import Bench, Terms

    return Terms(
        bench=Bench(
            slots=slots,
            fingerprint=manifest.fingerprint,
            limits=Limits(timeout_s=experiment.timeout_s, max_rows=experiment.max_rows),
            regimen=experiment.regimen,
            redaction=redaction,
            preflight=experiment.preflight,
            keeps_gold=experiment.transcripts,
        ),
        prices=prices,
        machine=machine,
        billing=experiment.billing,
    )


def _check_labels(models: Sequence[Model]) -> None:
    for model in models:
        # Controls turn the rest of a line round, or end it.
        odd = any(unicodedata.category(each) in {"Cc", "Cf"} for each in model.label)
        if odd or len(model.label) > _LABEL_CHARACTERS:
            raise UsageError(
                f"a model's label is a line of up to {_LABEL_CHARACTERS} characters, without "
                f"control characters, and not {model.label[:_LABEL_CHARACTERS]!r}: give another "
                "with ?label=NAME"
            )
    twice = [label for label, n in Counter(model.label for model in models).items() if n > 1]
    if twice:
        raise UsageError(f"two models are called {twice[0]!r}: tell them apart with ?label=NAME")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
