"""Embedding models: LangChain's, by name or as an object, with errors that say what to do."""

from __future__ import annotations

import threading
from typing import Any, Protocol, runtime_checkable

from bothends.infra.errors import MissingExtraError, ProviderError, UsageError
from bothends.infra.redact import redact

__all__ = ["Embedder", "EmbeddingModel"]

_EXTRAS = frozenset({"openai", "google_genai", "ollama"})
_OURS = {"google": "google_genai"}
"""Providers that a chat model's name spells otherwise than LangChain does."""


@runtime_checkable
class Embedder(Protocol):
    """What LangChain's `Embeddings` can do; any object that can is welcome."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return a vector for each text."""

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question."""


class EmbeddingModel:
    """An embedding model with the name that records know it by. Several threads may use it.

    Args:
        name: `provider:model`, or what describes the object.
        embedder: The object; made from the name, when it is first needed, where None.
    """

    def __init__(self, name: str, embedder: Embedder | None = None) -> None:
        self.name = name
        self._named = embedder is None
        self._embedder = embedder
        self._loading = threading.Lock()

    @classmethod
    def of(cls, given: object) -> object:
        """Return what was given as an embedding model; what is none is left to be refused."""
        if isinstance(given, str):
            return cls(given)
        if isinstance(given, Embedder):
            return cls(_described(given), given)
        return given

    @property
    def priced_as(self) -> str | None:
        """The `provider:model` that its tokens are priced as; None for an object of one's own."""
        return self.name if self._named else None

    def load(self) -> Embedder:
        """Return the object, which is made the first time.

        Raises:
            UsageError: If the name is malformed or names no provider.
            MissingExtraError: If the provider's package is not installed.
            ProviderError: If the model cannot be set up, for want of a key, say.
        """
        with self._loading:
            if self._embedder is None:
                self._embedder = _load(self.name)
            return self._embedder

    def __eq__(self, other: object) -> bool:
        """Whether records would know both by the same name."""
        return isinstance(other, EmbeddingModel) and self.name == other.name

    def __hash__(self) -> int:
        """Return a hash of the name."""
        return hash(self.name)


def _load(name: str) -> Embedder:
    provider, colon, model = name.partition(":")
    if not (colon and provider and model):
        raise UsageError(
            f"{name!r} names no embedding model: write provider:model, such as "
            "openai:text-embedding-3-small or ollama:nomic-embed-text"
        )
    from langchain.embeddings import init_embeddings

    provider = _OURS.get(provider, provider)
    try:
        embedder: Any = init_embeddings(model, provider=provider)
    except ImportError as error:
        if provider in _EXTRAS:
            extra = provider.partition("_")[0]
            raise MissingExtraError(f"the package for {provider}", extra) from error
        raise UsageError(f"embeddings {name}: {error}") from error
    except Exception as error:
        said = redact(" ".join(str(error).split()))
        # LangChain's own refusal lists the providers that it knows.
        kind = UsageError if isinstance(error, ValueError) and provider in said else ProviderError
        raise kind(f"embeddings {name} cannot be set up: {said}") from error
    loaded: Embedder = embedder
    return loaded


def _described(embedder: Embedder) -> str:
    named = (getattr(embedder, attribute, None) for attribute in ("model", "model_name"))
    model = next((name for name in named if isinstance(name, str) and name), None)
    return type(embedder).__name__ + (f"({model})" if model else "")
