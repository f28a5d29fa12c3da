"""What a model is to the agent: a chat model per case, with its terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bothends.agent.record import ModelKind
from bothends.infra.prices import Pricing

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

__all__ = ["Case", "Model"]


@dataclass(frozen=True, slots=True)
class Case:
    """The attempt that a chat model is made for.

    Hosted models never look at it. A scripted model is told the gold; a replayed one finds its
    recorded replies by question and replica.

    Attributes:
        question_id: The question's id.
        question: The question's text.
        replica: Which repetition, from 0.
        gold_sql: The gold in the engine's dialect, or None where there is none.
        dialect: The engine's sqlglot dialect.
    """

    question_id: str
    question: str
    replica: int
    gold_sql: str | None
    dialect: str


@dataclass(frozen=True, slots=True)
class Model:
    """A model with the terms on which it is measured.

    Attributes:
        spec: As the user named it: `provider:model?option=value`.
        label: Its name in tables.
        kind: What it is: hosted, self_hosted, replay or scripted.
        description: One plain sentence that says what it is, and of a recording or a script that
            it is one.
        pricing: What its calls are priced by.
        text_calls: Whether tool calls written as JSON in its text are recognised.
        chat: Makes the chat model for a case.
        recipe: The recipe that a recording is of; None for a model that goes with any.
        sampling: The sampling parameters that are sent, None for those that are not; empty for a
            model that samples nothing.
        checker_pricing: What the calls of its checker are priced by, where these were recorded
            with it and were another model's; None for its own pricing.
    """

    spec: str
    label: str
    kind: ModelKind
    description: str
    pricing: Pricing
    text_calls: bool
    chat: Callable[[Case], BaseChatModel]
    recipe: str | None = None
    sampling: Mapping[str, float | int | str | None] = field(default_factory=dict)
    checker_pricing: Pricing | None = None

    def pricing_of(self, checker: Model | None) -> Pricing:
        """Return what the calls of its checker are priced by.

        Args:
            checker: The checker, where that is another model.
        """
        return checker.pricing if checker is not None else self.checker_pricing or self.pricing
