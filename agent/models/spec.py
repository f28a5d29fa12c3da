"""How a model is named: `provider:model?option=value&...`."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from bothends.infra.errors import UsageError
from bothends.infra.redact import Secrets, safe_address

__all__ = ["ModelOptions", "ModelSpec", "parse_spec"]

_SECRETS = frozenset({"api_key", "apikey", "key", "token", "secret", "password", "authorization"})


class ModelOptions(BaseModel):
    """The options of a model's name; each is left as the provider has it where not given."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    label: str | None = Field(None, min_length=1, description="Its name in tables.")
    base_url: str | None = Field(None, description="The address of a server of one's own.")
    price_as: str | None = Field(
        None,
        pattern=r"^[^:]+:.+$",
        description="The `provider:model` whose token prices it is charged.",
    )
    machine: str | None = Field(
        None, description="The machine it runs on, whose hours are charged for its seconds."
    )
    text_calls: bool | None = Field(
        None, description="on or off: recognise tool calls written as JSON in its text."
    )
    temperature: float | None = Field(None, ge=0, description="Sampling temperature.")
    top_p: float | None = Field(None, gt=0, le=1, description="Nucleus sampling's mass.")
    max_tokens: int | None = Field(None, gt=0, description="Tokens of one reply at most.")
    seed: int | None = Field(None, description="Seed of sampling, or of a script's draws.")
    reasoning_effort: str | None = Field(
        None, min_length=1, description="How much it thinks, by its provider's levels."
    )
    timeout_s: float | None = Field(None, gt=0, description="Seconds that one call may take.")
    strict: bool | None = Field(
        None, description="on or off: end where a recorded conversation is another one now."
    )
    p: float | None = Field(None, ge=0, le=1, description="How often scripted:flaky is right.")

    @field_validator("base_url")
    @classmethod
    def _plain_address(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError("an address looks like http://localhost:8000/v1")
        return safe_address(value)

    def given(self) -> frozenset[str]:
        """Return the names of the options that were given."""
        return frozenset(name for name, value in self if value is not None)


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A parsed model name.

    Attributes:
        text: The name as the user wrote it.
        provider: What stands before the first colon.
        model: What stands after it, without the options.
        options: The options.
    """

    text: str
    provider: str
    model: str
    options: ModelOptions

    def admit(self, *names: str) -> None:
        """Refuse every option but these.

        Raises:
            UsageError: If an option was given that this provider cannot heed.
        """
        refused = sorted(self.options.given() - set(names))
        if refused:
            raise UsageError(
                f"{self.provider}:{self.model} takes no option {', '.join(refused)}; "
                f"it takes: {', '.join(names)}"
            )


def parse_spec(text: str, *, base_url: str | None = None) -> ModelSpec:
    """Parse `provider:model?option=value&...`; values may be percent-encoded.

    Args:
        text: The name.
        base_url: Its option `base_url` where the name gives none.

    Raises:
        UsageError: If it has another form, or an option is unknown, malformed or a secret.
    """
    if text in Secrets.of_environment():
        raise UsageError(
            "a model's name holds a secret of the environment: leave it out, since the name is "
            "recorded and keys are read from the environment"
        )
    name, _, query = text.strip().partition("?")
    provider, colon, model = name.partition(":")
    if not (colon and provider and model):
        raise UsageError(
            f"{name!r} names no model: write provider:model, such as openai:gpt-4o, "
            "ollama:qwen3:8b or scripted:perfect"
        )
    given: dict[str, str] = {}
    for part in filter(None, query.split("&")):
        key, equals, value = part.partition("=")
        if key.lower() in _SECRETS:
            raise UsageError(
                f"option {key!r} of {name}: keys are read from the environment "
                "(such as OPENAI_API_KEY) and never from a model's name, which is recorded"
            )
        if key not in ModelOptions.model_fields:
            raise UsageError(
                f"model {name} has no option {key!r}; the options are: "
                f"{', '.join(ModelOptions.model_fields)}"
            )
        if not equals or key in given:
            raise UsageError(f"option {key!r} of {name} is to be given once, as {key}=value")
        given[key] = unquote(value)
    if base_url:
        given.setdefault("base_url", base_url)
    try:
        options = ModelOptions.model_validate(given)
    except ValidationError as error:
        fault = error.errors()[0]
        message = fault["msg"].removeprefix("Value error, ")
        key = str(fault["loc"][0])
        said = key if key == "base_url" else f"{key}={given[key]}"
        raise UsageError(f"option {said} of {name}: {message}") from None
    return ModelSpec(text.strip(), provider, model, options)
