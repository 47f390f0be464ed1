"""MirrorMaker 2's replication policies: its own topics, and the names of copies.

Internal topics are never replicated, and KIP-1074 (Kafka 4.0) changed which topics are internal:
before it every topic whose name ends in ``.internal`` or ``-internal``, since then only
MirrorMaker's own. Names in this module are the names that MirrorMaker sees: at a gateway, the
logical names that its listener shows. Methods are named after those of
``org.apache.kafka.connect.mirror.ReplicationPolicy``; a test compares them with Kafka's classes
(tests/live/oracle/test_replication_oracle.py).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

HEARTBEATS: Final = "heartbeats"

EXCLUDE: Final = (r"mm2.*\.internal", r".*\.replica", "__.*")
"""``topics.exclude`` of DefaultTopicFilter since KIP-1074, whose text has the first pattern without
its backslash and dot."""

EXCLUDE_BEFORE: Final = (r".*[\-\.]internal", r".*\.replica", "__.*")
"""``topics.exclude`` of DefaultTopicFilter before KIP-1074."""

Kind = Literal["user", "mirror-maker", "kafka"]
"""The kind of a topic for MirrorMaker: a user's, its own, or hidden by Kafka (``__…``, ``.…``)."""


@dataclass(frozen=True, slots=True)
class ReplicationPolicy:
    """DefaultReplicationPolicy or, with ``identity``, IdentityReplicationPolicy.

    ``separator`` is ``replication.policy.separator``, not empty. Unless
    ``internal_separator_enabled`` (``replication.policy.internal.topic.separator.enabled``),
    internal topics have ``.`` in its place. ``source_alias`` (``source.cluster.alias``) is the
    source of every topic for IdentityReplicationPolicy.
    """

    separator: str = "."
    internal_separator_enabled: bool = True
    identity: bool = False
    source_alias: str | None = None

    # -- names of copies ------------------------------------------------------------------------

    def format_remote_topic(self, source_alias: str, topic: str) -> str:
        """The name of a topic's copy at the target."""
        if self.identity and not topic.endswith(HEARTBEATS):
            return topic
        return f"{source_alias}{self.separator}{topic}"

    def topic_source(self, topic: str) -> str | None:
        """The alias of the cluster that a topic was copied from, or None if it is no copy."""
        if self.identity and not topic.endswith(HEARTBEATS):
            return self.source_alias
        parts = topic.split(self.separator)
        while parts and not parts[-1]:  # Java's split leaves them out, too
            parts.pop()
        return parts[0] if len(parts) > 1 else None

    def upstream_topic(self, topic: str) -> str | None:
        """The name of the topic that a copy was made of, or None if it is no copy."""
        if self.identity and not topic.endswith(HEARTBEATS):
            return topic
        source = self.topic_source(topic)
        return None if source is None else topic[len(source) + len(self.separator) :]

    def original_topic(self, topic: str) -> str:
        """The name of the original topic of a copy, which may be a copy of copies."""
        while True:
            upstream = self.upstream_topic(topic)
            if upstream is None or upstream == topic:
                return topic
            topic = upstream

    # -- topics of MirrorMaker's own ------------------------------------------------------------

    def offset_syncs_topic(self, alias: str) -> str:
        """The topic that maps offsets of a cluster's topics to offsets of their copies."""
        return f"mm2-offset-syncs{self._internal_separator}{alias}{self._internal_suffix}"

    def checkpoints_topic(self, alias: str) -> str:
        """The topic of translated offsets of a cluster's groups."""
        return f"{alias}{self._checkpoints_suffix}"

    def is_heartbeats_topic(self, topic: str) -> bool:
        """Whether a topic holds heartbeats, which are replicated even if ``topics`` does not name
        them."""
        return self.original_topic(topic) == HEARTBEATS

    def is_checkpoints_topic(self, topic: str) -> bool:
        """Whether a topic has the name of a checkpoints topic."""
        return topic.endswith(self._checkpoints_suffix)

    def is_mm2_internal_topic(self, topic: str) -> bool:
        """Whether a topic is MirrorMaker's own, since KIP-1074."""
        is_own = topic.startswith("mm2") and topic.endswith(self._internal_suffix)
        return is_own or self.is_checkpoints_topic(topic)

    def is_internal_topic(self, topic: str) -> bool:
        """Whether a topic is never replicated, since KIP-1074."""
        return self.is_mm2_internal_topic(topic) or _is_kafka_internal(topic)

    def is_mm2_internal_topic_before(self, topic: str) -> bool:
        """Whether MirrorMaker before KIP-1074 takes a topic for its own."""
        return topic.endswith(self._internal_suffix)

    def is_internal_topic_before(self, topic: str) -> bool:
        """Whether MirrorMaker before KIP-1074 never replicates a topic."""
        is_connects = topic.endswith(("-internal", ".internal"))
        return self.is_mm2_internal_topic_before(topic) or _is_kafka_internal(topic) or is_connects

    def kind(self, topic: str) -> Kind:
        """The kind of a topic for MirrorMaker since KIP-1074."""
        if self.is_mm2_internal_topic(topic):
            return "mirror-maker"
        return "kafka" if _is_kafka_internal(topic) else "user"

    @property
    def _internal_separator(self) -> str:
        return self.separator if self.internal_separator_enabled else "."

    @property
    def _internal_suffix(self) -> str:
        return f"{self._internal_separator}internal"

    @property
    def _checkpoints_suffix(self) -> str:
        return f"{self._internal_separator}checkpoints{self._internal_suffix}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether MirrorMaker with its default filter replicates a topic: ``replicated`` since
    KIP-1074, ``was_replicated`` before it, if the topic is no copy from the target itself."""

    kind: Kind
    replicated: bool
    was_replicated: bool

    def __str__(self) -> str:
        whose = {"user": "a user's topic", "mirror-maker": "its own topic", "kafka": "internal"}
        if self.replicated == self.was_replicated:
            what = "replicated" if self.replicated else "not replicated"
        elif self.replicated:
            what = "replicated since Kafka 4.0 (KIP-1074), not before"
        else:
            what = "not replicated since Kafka 4.0 (KIP-1074), before it was"
        return f"{whose[self.kind]}, {what}"


def _is_kafka_internal(topic: str) -> bool:
    return topic.startswith(("__", "."))


DEFAULT: Final = ReplicationPolicy()
"""MirrorMaker's default: DefaultReplicationPolicy with ``.``."""


def excluded(topic: str, patterns: Sequence[str] = EXCLUDE) -> bool:
    """Whether DefaultTopicFilter leaves a topic out: a pattern matches its whole name."""
    return any(re.fullmatch(pattern, topic) for pattern in patterns)


def verdict(topic: str, policy: ReplicationPolicy = DEFAULT) -> Verdict:
    """The verdict on a topic, by the name that MirrorMaker sees."""
    heartbeats = policy.is_heartbeats_topic(topic)
    now = not excluded(topic) and not policy.is_internal_topic(topic)
    before = not excluded(topic, EXCLUDE_BEFORE) and not policy.is_internal_topic_before(topic)
    return Verdict(policy.kind(topic), heartbeats or now, heartbeats or before)
