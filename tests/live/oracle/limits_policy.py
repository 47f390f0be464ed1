"""A policy on new topics, with the rules and messages of its oracle java/LimitsPolicy.java.

Its rules are in the same order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from gateway.policies.interface import CreateTopicPolicy, PolicyViolation, RequestMetadata

MOST_WHEN_COMPACTED: Final = 2
LONGEST_RETENTION_MS: Final = 604_800_000
NO_LEADER: Final = 2
QUIET: Final = "quiet"
"""The prefix of names that are rejected without a message."""

_NAME: Final = re.compile(r"[a-z][a-z0-9._-]*")


class LimitsPolicy(CreateTopicPolicy):
    """A policy with limits from the broker's ``num.partitions`` and
    ``default.replication.factor``."""

    def __init__(self) -> None:
        self._most_partitions = 0
        self._fewest_replicas = 0

    def configure(self, configs: Mapping[str, str | None]) -> None:
        """See :class:`CreateTopicPolicy`."""
        self._most_partitions = 2 * int(configs["num.partitions"] or 0)
        self._fewest_replicas = int(configs["default.replication.factor"] or 0)

    def validate(self, request_metadata: RequestMetadata) -> None:
        """See :class:`CreateTopicPolicy`."""
        asked = request_metadata
        if asked.topic.startswith(QUIET):
            raise PolicyViolation
        wrong = [
            *_name(asked),
            *self._partitions(asked),
            *self._replicas(asked),
            *_configs(asked),
        ]
        if wrong:
            # Not ASCII, because messages may have any character.
            raise PolicyViolation(f"{_as_text(asked)} \u2260 policy: {'; '.join(wrong)}")

    def _partitions(self, asked: RequestMetadata) -> list[str]:
        assignments = asked.replicas_assignments
        partitions = asked.num_partitions if assignments is None else len(assignments)
        assert partitions is not None
        compacted = asked.configs.get("cleanup.policy") == "compact"
        most = MOST_WHEN_COMPACTED if compacted else self._most_partitions
        return [f"{partitions} partitions are more than {most}"] if partitions > most else []

    def _replicas(self, asked: RequestMetadata) -> list[str]:
        if asked.replicas_assignments is not None:
            return [
                f"broker {NO_LEADER} would lead partition {partition}"
                for partition, brokers in sorted(asked.replicas_assignments.items())
                if brokers[0] == NO_LEADER
            ]
        factor, fewest = asked.replication_factor, self._fewest_replicas
        assert factor is not None
        return [f"a replication factor of {factor} is less than {fewest}"] * (factor < fewest)


def _name(asked: RequestMetadata) -> list[str]:
    if _NAME.fullmatch(asked.topic):
        return []
    return ["a name has small letters and begins with one"]


def _configs(asked: RequestMetadata) -> list[str]:
    retention = asked.configs.get("retention.ms")
    if retention is None:
        return ["retention.ms has to be set"]
    if 0 <= int(retention) <= LONGEST_RETENTION_MS:
        return []
    return [f"retention.ms {retention} is longer than {LONGEST_RETENTION_MS}"]


def _as_text(asked: RequestMetadata) -> str:
    """All parameters of the policy as Java writes them, so that they are compared, too."""
    assignments = asked.replicas_assignments
    by_hand = None
    if assignments is not None:
        by_hand = _map({part: list(brokers) for part, brokers in assignments.items()})
    return (
        f"topic {asked.topic}, partitions {_null(asked.num_partitions)}"
        f", replication factor {_null(asked.replication_factor)}"
        f", assignments {_null(by_hand)}, configs {_map(asked.configs)}"
    )


def _null(value: object) -> str:
    return "null" if value is None else str(value)


def _map(values: Mapping[int, object] | Mapping[str, object]) -> str:
    pairs = sorted(values.items(), key=lambda pair: pair[0])
    return "{" + ", ".join(f"{key}={value}" for key, value in pairs) + "}"
