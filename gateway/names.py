"""Names: logical (``org:apache:kafka:orders``) to flat (``org.apache.kafka..orders``) and back.

The encoding (docs/names.md has the rationale): tiers are encoded and joined by ``.``, then comes
``..``, then the topic as it is. Inside a tier ``.`` becomes ``-.``, a single ``-`` before a letter
or digit stays, every other run of ``-`` is doubled. A name of the default namespace is its own flat
name. The encoding is total on valid names, injective and reversible, and names of different
namespaces differ even after Kafka's folding of ``.`` and ``_``.

Pure functions over ``str``; the catalog, not this module, knows which namespaces exist.
"""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_FLAT_LENGTH = 249
"""Kafka's limit for a topic name (org.apache.kafka.common.internals.Topic)."""

DELIMITER = ":"
"""KIP-37's delimiter: between tiers and before the topic."""

SLASH = "/"
"""The delimiter of the directory spelling, which clients may write for ``:`` in a tree."""

END_OF_NAMESPACE = ".."

TIER = re.compile(r"[a-zA-Z0-9.-]+\Z")
"""A tier of a namespace, as KIP-37 allows it."""

TOPIC = re.compile(r"[a-zA-Z0-9._-]+\Z")
"""Characters that Kafka allows in a topic name; ``.`` and ``..`` alone are rejected as well."""

RESERVED_TOPICS = frozenset(
    {"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"}
)
"""Kafka's own topics (org.apache.kafka.common.internals.Topic: INTERNAL_TOPICS and
CLUSTER_METADATA_TOPIC_NAME)."""
RESERVED_PREFIX = "__kafka_gateway"
"""The beginning of the gateway's own topics and ids."""

END_TOPIC = f"{RESERVED_PREFIX}_end_"
"""The beginning of an end topic in its namespace (gateway/changes/jobs/end_topic.py)."""

_END_TOPIC = re.compile(re.escape(f"{END_OF_NAMESPACE}{END_TOPIC}") + r"[0-9]+\Z")

_ANY_TOPIC = "t"
"""Stands for a topic, because a namespace's flat prefix can be decoded only with a topic."""

_PLAIN_TIERS = re.compile(r"[a-zA-Z0-9]+(?:[.-][a-zA-Z0-9]+)*")
_DASHES = re.compile(r"-+")
_PIECE = re.compile(r"(-+)|(\.)|([a-zA-Z0-9]+)")


class InvalidName(ValueError):
    """A name that is valid neither in a namespace nor in Kafka; the text tells the client why."""


class NoTopicHere(InvalidName):
    """A legal name of no topic in this view: another view may reach a topic by it, or it is the
    name of a namespace, which may not exist."""


class LogicalName(NamedTuple):
    """A namespace (tier path, ``""`` for the default namespace) and the topic in it."""

    namespace: str
    topic: str

    def __str__(self) -> str:
        return f"{self.namespace}{DELIMITER}{self.topic}" if self.namespace else self.topic


def is_reserved(name: str) -> bool:
    """Whether a flat topic name is the gateway's or Kafka's own."""
    return is_reserved_id(name) or is_end_topic(name)


def is_reserved_id(name: str) -> bool:
    """Whether a group or transactional id is the gateway's own, or has the name of one of Kafka's
    topics."""
    return name in RESERVED_TOPICS or name.startswith(RESERVED_PREFIX)


def is_end_topic(flat: str) -> bool:
    """Whether a flat name is an end topic's, even if its namespace does not exist."""
    return END_TOPIC in flat and _END_TOPIC.search(flat) is not None


def is_reserved_name(name: LogicalName) -> bool:
    """Whether a logical name is reserved, so that no topic has it or can get it: its topic's name
    is the gateway's or Kafka's own. This holds in every namespace, because a tool at a home would
    take ``__consumer_offsets`` there for the brokers' topic, and find no group in it."""
    return is_reserved(name.topic)


def check_namespace(namespace: str) -> None:
    """Raise :class:`InvalidName` unless every tier of a non-empty path is well formed."""
    for tier in namespace.split(DELIMITER):
        if not TIER.match(tier):
            shown = tier or "(empty)"
            raise InvalidName(
                f"tier '{shown}' of namespace '{namespace}' is not one or more of [a-zA-Z0-9.-]"
            )


def check_room(namespace: str) -> None:
    """Raise :class:`InvalidName` unless a namespace leaves a character of Kafka's for a topic."""
    if len(flat_prefix(namespace)) >= MAX_FLAT_LENGTH:
        raise InvalidName(
            f"'{namespace}' leaves none of Kafka's {MAX_FLAT_LENGTH} characters for a topic"
        )


def check_topic(topic: str) -> None:
    """Raise :class:`InvalidName` unless Kafka would accept ``topic``, length aside."""
    if topic in {"", ".", ".."}:
        shown = topic or "(empty)"
        raise InvalidName(f"topic name '{shown}' is not allowed")
    if not TOPIC.match(topic):
        raise InvalidName(f"topic name '{topic}' holds characters other than [a-zA-Z0-9._-]")


def parents(namespace: str) -> list[str]:
    """The namespace and all namespaces above it, outermost first, without the default namespace.

    >>> parents("org:apache:kafka")
    ['org', 'org:apache', 'org:apache:kafka']
    """
    tiers = namespace.split(DELIMITER) if namespace else []
    return [DELIMITER.join(tiers[:count]) for count in range(1, len(tiers) + 1)]


def below(namespace: str, home: str) -> str | None:
    """``namespace`` relative to ``home`` (``""``: the root), or None if it is not in home's
    subtree."""
    if not home or namespace == home:
        return namespace if not home else ""
    inside = namespace.removeprefix(home + DELIMITER)
    return inside if inside != namespace else None


def flat_prefix(namespace: str) -> str:
    """The prefix of a namespace's flat names: its encoded tiers and ``..``.

    >>> flat_prefix("org:apache:v1.2")
    'org.apache.v1-.2..'
    """
    if not namespace:
        return ""
    tiers = namespace.split(DELIMITER)
    return ".".join(map(_encode_tier, tiers)) + END_OF_NAMESPACE


def encode(name: LogicalName) -> str:
    """The flat name. Raises :class:`InvalidName` if it is not valid or longer than 249."""
    if name.namespace:
        check_namespace(name.namespace)
    check_topic(name.topic)
    prefix = flat_prefix(name.namespace)
    flat = prefix + name.topic
    if len(flat) > MAX_FLAT_LENGTH:
        room = max(0, MAX_FLAT_LENGTH - len(prefix))
        where = f"namespace '{name.namespace}'" if name.namespace else "the default namespace"
        raise InvalidName(
            f"topic name '{name.topic}' has {len(name.topic)} characters; "
            f"{where} leaves {room} of Kafka's {MAX_FLAT_LENGTH} for the topic"
        )
    return flat


def decode(flat: str) -> LogicalName:
    """The logical name that a flat name spells, in the default namespace if it spells no other.

    The namespace may not exist: see the catalog. Only the spelling of :func:`encode` is decoded, so
    ``encode(decode(flat)) == flat`` for every flat name.
    """
    head, end, rest = flat.partition(END_OF_NAMESPACE)
    if not end:
        return LogicalName("", flat)
    if _PLAIN_TIERS.fullmatch(head):  # as in nearly all names: no tier has an escape
        split: tuple[str, str] | None = head.replace(".", DELIMITER), rest
    else:
        split = _read_namespace(flat)
    if split is None:
        return LogicalName("", flat)
    namespace, rest = split
    if not TOPIC.match(rest) or rest in {".", ".."}:
        return LogicalName("", flat)
    return LogicalName(namespace, rest)


def owner_of_id(text: str) -> tuple[str, str] | None:
    """Namespace and rest of an absolute group or transactional id, by its spelling alone:
    ``team-a..app`` is ``app`` of home team-a, and ``team-a..`` its empty group id. Only the prefix
    is parsed, because ids may hold any character.

    Existence does not matter: else clients could find out by the operations that they may do on an
    id which namespaces exist.
    """
    at = text.find(END_OF_NAMESPACE, 0, MAX_FLAT_LENGTH)
    while at > 0:
        prefix, rest = text[: at + len(END_OF_NAMESPACE)], text[at + len(END_OF_NAMESPACE) :]
        # A tier may end in a dot, so the first two dots are not always the end.
        namespace = decode(prefix + _ANY_TOPIC).namespace
        if namespace and flat_prefix(namespace) == prefix:
            return namespace, rest
        at = text.find(END_OF_NAMESPACE, at + 1, MAX_FLAT_LENGTH)
    return None


def may_be_captured(topic: str) -> bool:
    """Whether a namespace that is created later could capture this name of the default
    namespace."""
    return fold(topic).find(fold(END_OF_NAMESPACE)) > 0


def fold(flat: str) -> str:
    """Kafka's folding of metric names: names collide if they are equal after it
    (Topic.hasCollisionChars)."""
    return flat.replace(".", "_")


def _encode_tier(tier: str) -> str:
    def dashes(run: re.Match[str]) -> str:
        following = tier[run.end() : run.end() + 1]
        lone = len(run[0]) == 1 and following.isalnum()
        return run[0] if lone else run[0] * 2

    return _DASHES.sub(dashes, tier).replace(".", "-.")


def _read_namespace(flat: str) -> tuple[str, str] | None:
    """Read ``tiers..rest`` from the left, or None if no encoding gives this text.

    Dashes: if an odd run precedes a dot, the dot is escaped; if an even run does, the dot ends the
    tier; a single dash before a letter or digit is itself.
    """
    tiers: list[str] = []
    tier: list[str] = []
    at = 0
    while at < len(flat):
        piece = _PIECE.match(flat, at)
        if piece is None:
            return None
        at = piece.end()
        if piece[3]:
            tier.append(piece[3])
        elif piece[1]:
            read = _read_dashes(len(piece[1]), flat[at : at + 1])
            if read is None:
                return None
            text, taken = read
            tier.append(text)
            at += taken
        else:
            if not tier:
                return None
            tiers.append("".join(tier))
            tier = []
            if flat[at : at + 1] == ".":
                return DELIMITER.join(tiers), flat[at + 1 :]
    return None


def _read_dashes(count: int, following: str) -> tuple[str, int] | None:
    """The text that ``count`` dashes spell, and the number of characters after them that belong to
    it."""
    if following == ".":
        if count == 1:
            return ".", 1
        # An escaped dot has its own dash; the dashes before it are doubled.
        return ("-" * (count // 2) + ("." if count % 2 else ""), count % 2)
    if not following.isalnum():
        return None
    if count == 1:
        return "-", 0
    return None if count % 2 or count == 2 else ("-" * (count // 2), 0)
