"""Judges for tests of changes."""

from __future__ import annotations

from typing import Any

from gateway.config.policies import PolicySettings
from gateway.policies.interface import PolicyViolation, RequestMetadata
from gateway.policies.judge import Judge
from gateway.policies.tree import Placed, Policies
from gateway.policies.violation import Violation


class Asked:
    """Stands for the threads that call a policy class: it keeps its calls, and rejects topics that
    have ``refused`` in their name."""

    def __init__(self, rejected: str = "refused") -> None:
        self.asked: list[RequestMetadata] = []
        self._rejected = rejected

    async def why_not(self, placed: Placed, metadata: RequestMetadata) -> Violation | None:
        self.asked.append(metadata)
        try:
            if self._rejected in metadata.topic:
                raise PolicyViolation(f"{metadata.topic} is refused.")
        except PolicyViolation as error:
            return Violation("create.topic.policy", str(error), placed.source, placed.block.mode)
        return None


def judge(classes: Asked | None = None, **settings: Any) -> Judge:
    """A judge by ``policies:`` of a configuration."""
    ask_class = None if classes is None else classes.why_not
    return Judge(Policies(PolicySettings.model_validate(settings)), ask_class)


def everywhere(**block: Any) -> dict[str, Any]:
    """The same block for all namespaces."""
    return {"everywhere": block}
