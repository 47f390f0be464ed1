"""What is found wrong with a topic by one rule of one policy, and the words that clients read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gateway.config_policies import Mode
from gateway.names import DELIMITER
from gateway.policies.tree import Placed


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that a topic does not satisfy.

    ``rule`` names the rule as the configuration does (``partitions.max``, ``configs.required``,
    ``create.topic.policy``). ``message`` is a sentence for the client, in logical names, with the
    value, the limit and who set it. ``source`` is the place in the configuration
    (``policies.namespaces.org``), ``mode`` that of its block: ``enforce`` refuses, ``warn`` is
    counted and logged alone.
    """

    rule: str
    message: str
    source: str
    mode: Mode


def enforced(found: Iterable[Violation]) -> list[Violation]:
    """Those that refuse; the others only warn."""
    return [one for one in found if one.mode == "enforce"]


def violation(placed: Placed, rule: str, sentence: str) -> Violation:
    """The violation of a declared rule; ``sentence`` goes without its full stop."""
    message = f"{sentence} (policies: {rule}, {placed.setter})."
    return Violation(rule, message, placed.source, placed.block.mode)


def shown_name(topic: str) -> str:
    """A topic in a sentence, or the namespace that a name with ``:`` at its end stands for."""
    if topic.endswith(DELIMITER):
        return f"namespace '{topic.removesuffix(DELIMITER)}'"
    return f"topic '{topic}'"
