"""The virtual configs ``gateway.*``: how stock tools move topics and look into namespaces.

No broker knows these configs, and they never reach a broker. All of them are described as read-only
defaults, even those that can be set, because tools that synchronize configs copy every dynamic
config to another cluster (MirrorMaker 2), or delete every config that they have not set themselves
(Strimzi's Topic Operator). So a tool that does not know these keys changes nothing by copying or
deleting them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final

from gateway.changes.base.freezing import FORCED_BY
from gateway.changes.base.rejected import Rejected
from gateway.changes.base.resources import DELETE, SET, Operation
from gateway.error_codes import INVALID_CONFIG, INVALID_REQUEST
from gateway.names import DELIMITER, InvalidName, LogicalName
from gateway.views.view import View
from protocol.pausing import eased

PREFIX: Final = "gateway."
NAMESPACE: Final = "gateway.namespace"
TOPIC: Final = "gateway.topic"
ALIAS_UNTIL: Final = "gateway.alias.until"
RELEASE: Final = "gateway.release"
FORCE: Final = FORCED_BY
LINK: Final = "gateway.link"
LINK_TO: Final = "gateway.link.to"
LINKS: Final = "gateway.links"
ADOPT: Final = "gateway.adopt"
PRINCIPALS: Final = "gateway.principals"
NAMESPACES: Final = "gateway.namespaces"
TOPICS: Final = "gateway.topics"
DELETING: Final = "gateway.deleting"
POLICIES: Final = "gateway.policies"
SPELLING: Final = "gateway.spelling"
AUTHORIZATION: Final = "gateway.authorization"
AUTO_CREATE: Final = "gateway.auto.create.topics.enable"
NUM_PARTITIONS: Final = "gateway.num.partitions"

DOCUMENTATION: Final[Mapping[str, str]] = MappingProxyType(
    {
        NAMESPACE: "The namespace that the topic is in. IncrementalAlterConfigs SET moves the"
        " topic, without copying a record.",
        TOPIC: "The topic's name in the namespace that it is moved to.",
        ALIAS_UNTIL: "Until when the former name of a moved topic goes on working.",
        RELEASE: "IncrementalAlterConfigs SET to true gives the topic back to the default"
        " namespace, under the name that the cluster stores it by.",
        FORCE: "Whether a move or a release, which waits until no request under the topic's former"
        " name is under way, goes ahead all the same after 10 s.",
        LINK: "Further names of the topic, in other namespaces, with ACLs of their own."
        " IncrementalAlterConfigs SET, DELETE, APPEND and SUBTRACT.",
        LINK_TO: "The topic that a link leads to, if the client may describe it."
        " IncrementalAlterConfigs DELETE removes the link, and no topic.",
        LINKS: "The links in this namespace, each with the topic that it leads to.",
        ADOPT: "Whether a namespace takes in the existing topics that its name captures.",
        PRINCIPALS: "The principals whose home the namespace is: bare names are in it, and they"
        " reach nothing outside. IncrementalAlterConfigs SET, DELETE, APPEND and SUBTRACT.",
        NAMESPACES: "The namespaces directly below this one.",
        TOPICS: "How many topics are in this namespace, those below it not counted.",
        DELETING: "The namespace is being deleted.",
        POLICIES: "Which policies apply to topics here, the producer guarantee too, and where each"
        " is set.",
        SPELLING: "How this listener writes names: colon, slash or legal.",
        AUTHORIZATION: "Whether ACLs of the gateway decide what a client may do.",
        AUTO_CREATE: "Whether a topic of the namespace is created when a client asks for it by"
        " Metadata; where nothing is set it is as auto.create.topics.enable of the brokers says.",
        NUM_PARTITIONS: "How many partitions such a topic gets; where nothing is set, as many as"
        " num.partitions of the brokers says.",
    }
)
"""Every virtual config, and its documentation."""

_TO_MOVE: Final = frozenset({NAMESPACE, TOPIC, ALIAS_UNTIL, RELEASE, FORCE})
_OF_NAMESPACES: Final = frozenset({PRINCIPALS, AUTO_CREATE, NUM_PARTITIONS})
_TO_LINK: Final = frozenset({LINK, LINK_TO})
_READ_ONLY: Final = frozenset(
    {NAMESPACES, TOPICS, DELETING, POLICIES, LINKS, SPELLING, AUTHORIZATION}
)
OF_LISTENER: Final = frozenset({SPELLING, AUTHORIZATION})
"""The virtual configs of the name ``:`` alone. Describing them needs no right, because every
response shows any client how the listener works."""

_MILLISECONDS: Final = re.compile(r"[0-9]{1,15}\Z")


@dataclass(frozen=True, slots=True)
class Move:
    """A requested move of a topic."""

    namespace: str
    """As the client wrote it: a tier path without a final colon (``""``: the home or, without a
    home, the default namespace; ``":"``: the default namespace)."""
    topic: str | None = None
    """The topic's new name; None: the name stays."""
    alias_until: int | None = None
    """Milliseconds since the epoch."""
    forced: bool = False
    """Whether the move proceeds while requests are in progress."""


@dataclass(frozen=True, slots=True)
class Release:
    """A requested release: the topic gets its flat name in the default namespace back."""

    forced: bool = False


def is_of_listener(resource: Any) -> bool:
    """Whether a request asks only for configs that show how the listener works."""
    keys = resource.configuration_keys
    return bool(keys) and len(keys) <= len(OF_LISTENER) and OF_LISTENER.issuperset(keys)


def is_virtual(key: str) -> bool:
    """Whether a config key is the gateway's: such keys are never sent to a broker, known or not."""
    return key.startswith(PREFIX)


def read_move(operations: Sequence[Operation], now: int) -> Move | Release | None:
    """The move or release that the operations of an IncrementalAlterConfigs on a topic request, or
    None.

    ``now`` is in milliseconds since the epoch. Raises :class:`Rejected`: INVALID_CONFIG for any
    other use of a virtual key, and INVALID_REQUEST for a move together with other operations.
    """
    virtual = [one for one in eased(operations) if is_virtual(one.key)]
    if not virtual:
        return None
    for one in eased(virtual):
        _check_movable(one)
    if len(virtual) != len(operations):
        raise Rejected(
            INVALID_REQUEST,
            "A move stands alone: change the topic's other configs in a request of their own.",
        )
    by_key = {one.key: one for one in eased(virtual)}
    if len(by_key) != len(virtual):
        raise Rejected(INVALID_REQUEST, "A config key is in the request twice.")
    forced = FORCE in by_key
    if forced:
        _check_true(by_key.pop(FORCE))
    if RELEASE in by_key:
        if len(by_key) > 1:
            text = f"'{RELEASE}' is set alone, without other '{PREFIX}' keys."
            raise Rejected(INVALID_CONFIG, text)
        _check_true(by_key[RELEASE])
        return Release(forced)
    where = by_key.get(NAMESPACE)
    if where is None:
        raise Rejected(INVALID_CONFIG, f"'{virtual[0].key}' is set along with '{NAMESPACE}' only.")
    namespace = where.value or ""
    if namespace.endswith(DELIMITER) and namespace != DELIMITER:
        raise Rejected(
            INVALID_CONFIG, f"'{NAMESPACE}' is a namespace without a final colon: '{namespace}'."
        )
    topic = by_key.get(TOPIC)
    until = by_key.get(ALIAS_UNTIL)
    return Move(
        namespace,
        None if topic is None else topic.value,
        None if until is None else read_time(until.value or "", now),
        forced,
    )


def _check_true(one: Operation) -> None:
    if (one.value or "").strip().lower() != "true":
        text = f"'{one.key}' can be set to 'true' only, not to '{one.value}'."
        raise Rejected(INVALID_CONFIG, text)


def read_link_change(operations: Sequence[Operation]) -> Operation | None:
    """The operation on a topic's links, or on a link itself, that an IncrementalAlterConfigs
    requests, or None. Raises :class:`Rejected` if there are further operations."""
    about = [one for one in eased(operations) if one.key in _TO_LINK]
    if not about:
        return None
    one = about[0]
    if len(operations) > 1:
        raise Rejected(
            INVALID_REQUEST,
            f"'{one.key}' is changed alone; change the topic's other configs in a request of their"
            " own.",
        )
    if one.key == LINK_TO and one.operation != DELETE:
        raise Rejected(
            INVALID_CONFIG,
            f"'{LINK_TO}' can be deleted only, which removes the link; set '{LINK}' on the topic"
            " to link it.",
        )
    return one


def link_names(view: View, one: Operation) -> list[LogicalName]:
    """The names in the value of ``gateway.link``, as the view reads them. Raises
    :class:`Rejected`, INVALID_CONFIG."""
    if one.operation == DELETE:
        return []
    found: dict[LogicalName, None] = {}
    for item in eased((one.value or "").split(",")):
        text = item.strip()
        if not text:
            continue
        try:
            found[view.parse(text)] = None
        except InvalidName as error:
            raise Rejected(
                INVALID_CONFIG, f"'{LINK}' is a list of names like team-b:orders; {error}."
            ) from None
    return list(found)


def reject_on_topic(key: str) -> Rejected:
    """The error for a virtual key that CreateTopics or AlterConfigs puts on a topic."""
    if key in _OF_NAMESPACES or key == POLICIES:
        return _fixed(key)
    return Rejected(
        INVALID_CONFIG,
        f"'{key}' cannot be set here; IncrementalAlterConfigs of '{NAMESPACE}' moves a topic, of"
        f" '{RELEASE}' it releases one, of '{LINK}' it links one.",
    )


def reject_on_namespace(key: str) -> Rejected:
    """The error for a virtual key that is set on a namespace, except ``gateway.adopt`` at its
    creation."""
    if key in _TO_MOVE:
        return Rejected(INVALID_CONFIG, f"'{key}' moves topics; a namespace cannot be moved.")
    if key in _TO_LINK:
        return Rejected(INVALID_CONFIG, f"'{key}' is a config of topics; a namespace has no links.")
    if key == PRINCIPALS:
        return Rejected(
            INVALID_CONFIG,
            f"'{key}' is set on a namespace that exists, by IncrementalAlterConfigs.",
        )
    return _fixed(key)


def read_adopt(configs: Mapping[str, str | None]) -> bool:
    """Whether the virtual configs of a namespace that is being created request to adopt topics.

    Raises :class:`Rejected`, INVALID_CONFIG, for any other key and for a value that is no boolean.
    """
    for key in configs:
        if key != ADOPT:
            raise reject_on_namespace(key)
    value = configs.get(ADOPT)
    if value is None and ADOPT not in configs:
        return False
    answer = {"true": True, "false": False}.get((value or "").strip().lower())
    if answer is None:
        raise Rejected(INVALID_CONFIG, f"'{ADOPT}' is 'true' or 'false', not '{value}'.")
    return answer


def read_time(text: str, now: int) -> int:
    """A time in milliseconds since the epoch, given in milliseconds or in ISO 8601 (UTC if it has
    no offset). Raises :class:`Rejected`, INVALID_CONFIG, for a text that is no time and for a time
    that is past."""
    text = text.strip()
    if _MILLISECONDS.match(text):
        at = int(text)
    else:
        try:
            read = datetime.fromisoformat(text)
            at = int((read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp() * 1000)
        except (ValueError, OverflowError):
            raise Rejected(
                INVALID_CONFIG,
                f"'{ALIAS_UNTIL}' is a date or time like 2030-12-01 or 2030-12-01T10:00:00Z, or"
                f" milliseconds since 1970, not '{text}'.",
            ) from None
    if at <= now:
        message = f"'{ALIAS_UNTIL}' must be in the future, and '{text}' is not."
        raise Rejected(INVALID_CONFIG, message)
    return at


def _fixed(key: str) -> Rejected:
    """The error for an unknown key, or for a key that cannot be set on such a resource."""
    if key in _READ_ONLY:
        text = f"'{key}' is read-only: only the gateway sets it."
    elif key == ADOPT:
        text = f"'{ADOPT}' can be set only when a namespace is created."
    elif key in _OF_NAMESPACES:
        text = f"'{key}' is a config of namespaces; a topic has none."
    else:
        known = ", ".join(sorted(DOCUMENTATION))
        text = f"'{key}' is no config of this gateway; there are {known}."
    return Rejected(INVALID_CONFIG, text)


def _check_movable(one: Operation) -> None:
    if one.key not in _TO_MOVE:
        raise _fixed(one.key)
    if one.operation == DELETE and one.key == NAMESPACE:
        # DELETE once released the topic, and tools that delete every config they do not know sent
        # it.
        raise Rejected(
            INVALID_CONFIG,
            f"'{NAMESPACE}' cannot be deleted: a topic is always in a namespace. To give the topic"
            f" its flat name in the default namespace back, set '{RELEASE}' to 'true'.",
        )
    if one.operation != SET:
        raise Rejected(INVALID_CONFIG, f"'{one.key}' is no list, and is set at a move only.")


def without_virtual(keys: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """The config keys to query the broker for; None: all keys. Never an empty tuple, because
    brokers read an empty list as all keys."""
    if not keys:
        return None
    return tuple(key for key in eased(keys) if not is_virtual(key)) or (_ANY_KEY,)


_ANY_KEY = "retention.ms"
