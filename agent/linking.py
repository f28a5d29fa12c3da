"""Schema linking: which tables a single-shot prompt shows, as a metered step of its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import mul
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, Field

from bothends.agent.embeddings import EmbeddingModel
from bothends.agent.lexical import bm25, question_words, words
from bothends.agent.recipe import LinkingMode, Recipe
from bothends.agent.retry import RetryPolicy, call_with_retry
from bothends.agent.tokens import count_tokens
from bothends.engines import Engine
from bothends.infra.errors import EngineError, ProviderError
from bothends.tools import ToolReport, most_tables

__all__ = ["LinkReport", "link_tables_tool", "linking_arguments"]

# A table's name says more of it than a column's.
_NAME_WEIGHT = 3
# More than embedding models read; what is past it would be refused or cut by them.
_EMBEDDED_CHARACTERS = 4_000
_SHOWN_LEFT_OUT = 20


@dataclass(frozen=True, slots=True)
class LinkReport(ToolReport):
    """The artifact of a linking.

    Attributes:
        tables: The tables that the prompt shows, the likeliest first.
        total: How many there are.
    """

    tables: tuple[str, ...] = ()
    total: int = 0


class _Arguments(BaseModel):
    question: str = Field(description="The question.")
    linking: LinkingMode = Field(description="How the tables are chosen.")
    most: int = Field(description="How many are chosen at most.")


def link_tables_tool(engine: Engine, recipe: Recipe, retry: RetryPolicy) -> BaseTool:
    """Return the step that chooses the tables, as a tool, so that it is metered like one.

    A trial stands by itself: each reads the DDL of all tables, and embeds it, anew. Seconds spent
    on embeddings, on waiting for their provider too, are the step's own; the step says how many
    they were. Tokens are counted here, since LangChain's embeddings report none.

    Args:
        engine: The engine.
        recipe: Its linking, the tables it may choose, and the characters that they may take.
        retry: How faults of the embedding's provider are retried.
    """

    def link_tables(question: str, linking: LinkingMode, most: int) -> tuple[str, LinkReport]:
        started_s = engine.clock_s()
        names = engine.list_tables()
        texts = [_ddl(engine, name) for name in names] if linking != "none" else []
        engine_s = engine.clock_s() - started_s
        note = ""
        tokens: int | None = None
        priced_as: str | None = None
        scores: Sequence[float] = ()
        if linking == "lexical":
            bags = [
                words(name) * _NAME_WEIGHT + words(text)
                for name, text in zip(names, texts, strict=True)
            ]
            scores = bm25(question_words(question), bags)
        elif linking == "embedding":
            assert recipe.embeddings is not None  # noqa: S101 - the recipe sees to it
            embedding_s = engine.clock_s()
            documents = [
                f"{name}\n{text}"[:_EMBEDDED_CHARACTERS]
                for name, text in zip(names, texts, strict=True)
            ]
            scores = _similarities(recipe.embeddings, question, documents, retry)
            embedding_s = engine.clock_s() - embedding_s
            note = (
                f"\n({len(names) + 1} texts embedded by {recipe.embeddings.name} in "
                f"{embedding_s:.3f} s)"
            )
            tokens = sum(map(count_tokens, (*documents, question)))
            priced_as = recipe.embeddings.priced_as
        order = sorted(range(len(names)), key=lambda place: -scores[place] if scores else 0)
        ranked = [names[place] for place in order]
        shown = [
            f"{names[place]}\t{scores[place]:.4f}" if scores else names[place] for place in order
        ]
        text = "\n".join(shown[:most]) or "(the catalog is empty)"
        if left_out := ranked[most:]:
            named = ", ".join(left_out[:_SHOWN_LEFT_OUT])
            more = len(left_out) - _SHOWN_LEFT_OUT
            text += f"\nleft out: {named}" + (f", and {more:,} more" if more > 0 else "")
        report = LinkReport(
            engine_s=engine_s,
            tokens=tokens,
            priced_as=priced_as,
            tables=tuple(ranked[:most]),
            total=len(names),
        )
        return text + note, report

    return StructuredTool.from_function(
        link_tables,
        name="link_tables",
        description="Choose the tables that a question is about.",
        args_schema=_Arguments,
        response_format="content_and_artifact",
    )


def linking_arguments(recipe: Recipe, question: str) -> dict[str, Any]:
    """Return the arguments of the tool: no more tables than the prompt has room for.

    Args:
        recipe: The settings.
        question: The question's text.
    """
    room = most_tables(recipe.observation_chars)
    most = room if recipe.linking == "none" else min(room, recipe.linking_tables)
    return {"question": question, "linking": recipe.linking, "most": most}


def _ddl(engine: Engine, table: str) -> str:
    try:
        return engine.ddl(table)
    except EngineError:  # a view over what is gone, say: its name is all there is to go by
        return ""


def _similarities(
    model: EmbeddingModel,
    question: str,
    documents: Sequence[str],
    retry: RetryPolicy,
) -> list[float]:
    """Return the cosine between the question's vector and that of each table's name and DDL.

    Raises:
        ProviderError: If the provider does not answer, or not with such vectors.
    """

    def ask(call: Callable[[], Any]) -> Any:
        return call_with_retry(call, retry, on_wait=lambda *_: None)

    embedder = model.load()
    vectors = ask(lambda: embedder.embed_documents(list(documents))) if documents else []
    asked = ask(lambda: embedder.embed_query(question))
    if len(vectors) != len(documents) or any(len(vector) != len(asked) for vector in vectors):
        raise ProviderError(
            f"the embedding model {model.name} gave {len(vectors)} vectors for {len(documents)} "
            "texts, or vectors of different lengths: take another one"
        )
    return [_cosine(asked, vector) for vector in vectors]


def _cosine(a: Sequence[float], b: Sequence[float]) -> float:
    lengths = math.hypot(*a) * math.hypot(*b)
    return sum(map(mul, a, b)) / lengths if lengths else 0.0
