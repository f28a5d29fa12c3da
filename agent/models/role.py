"""Which LLM a chat model is in a call: the controller or the checker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bothends.agent.meter import ROLE
from bothends.agent.models.recording import Role

if TYPE_CHECKING:
    from langchain_core.callbacks import CallbackManagerForLLMRun

__all__ = ["role_of"]


def role_of(run_manager: CallbackManagerForLLMRun | None, arguments: Mapping[str, Any]) -> Role:
    """Return the role that the call's metadata names; without any, tools make a controller.

    Args:
        run_manager: What LangChain hands to the call.
        arguments: The call's own arguments.
    """
    named = (run_manager.metadata or {}).get(ROLE) if run_manager else None
    if named is None:
        return "controller" if arguments.get("tools") else "checker"
    return "checker" if named == "checker" else "controller"
