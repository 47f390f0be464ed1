"""How an API divides its requests by volume, as its declaration says.

A **volume** is one Kafka cluster of a tree, known by its mount (``la:tracking``).
``tree.volume_parts`` divides requests and merges the responses; ``tree.volume_down`` makes the
errors for a volume that does not respond. An API's own functions stand in its slice, and a
:class:`Division` refers to them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

from gateway.error_codes import (
    CLUSTER_AUTHORIZATION_FAILED,
    INVALID_REQUEST,
    LEADER_NOT_AVAILABLE,
    REQUEST_TIMED_OUT,
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_OR_PARTITION,
)

Remembered = tuple[bytes | None, int]
"""A topic as the gateway last saw it: the 16 bytes of its id (None: no id) and its partition
count."""

Recall = Callable[[Iterable[str] | None, Iterable[bytes]], Mapping[str, Remembered]]
"""(names, or None for all listed topics; topic ids) -> the topics that the volume had when it was
last seen and that the principal may describe, by their names as the client spells them."""


class Names(Protocol):
    """The volume of each name, as its mount path, for the clients of one listener.

    :class:`gateway.tree.lanes.Lanes`, in a layer above these pure rules. Tests fill in the
    names of a tree, because divisions are tested without clusters.
    """

    @property
    def own(self) -> str:
        """The listener's volume."""

    def topic(self, name: bytes) -> str:
        """The volume of a topic, even if the topic does not exist."""

    def topic_id(self, topic_id: bytes) -> str | None:
        """The volume of a topic by the 16 bytes of its id; None for an unknown id."""

    def group(self, group_id: bytes) -> str:
        """The volume of a group or a transactional id."""

    def acl_pattern(self, resource_type: int, pattern_type: int, name: str | None) -> str:
        """The volume of an ACL pattern or filter (``name`` None: any name)."""

    def flat(self, name: bytes) -> bytes | None:
        """A topic's name in its own cluster, by which DescribeTopicPartitions is sorted; None if
        no topic can have this name or the client may not describe the topic."""


@dataclass(frozen=True, slots=True)
class Requested:
    """The volume that another gateway was queried for, to check its response against."""

    path: str
    """The mount path of the volume."""

    topic: Callable[[bytes], str]
    """A topic's name, as the client writes it -> its volume."""

    acl_pattern: Callable[[int, int, str | None], str]
    """An ACL pattern, as the client writes it (resource type, pattern type, name) -> its volume."""

    has_id: Callable[[bytes], bool]
    """Whether a volume of this gateway has a topic with this id."""


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a request."""

    volume: str
    """The mount path of the volume that owns the item."""

    key: Hashable | None
    """The key that the item's answer bears; None: the position is the key."""


@dataclass(frozen=True, slots=True)
class Parts:
    """A request divided by volume."""

    version: int

    bodies: Mapping[str, bytes]
    """Each volume's request body, at the client's version."""

    own: str
    """The listener's volume."""

    items: tuple[Item, ...] = ()
    """The items in the order of the request."""

    only: str | None = None
    """The volume that owns the whole request, if there is one; its body is the client's own."""

    merger: Callable[[Parts, Mapping[str, bytes]], bytes] | None = None
    """Merges the responses, if the API merges in a way of its own."""


class Codes(NamedTuple):
    """The error codes for the items of a volume that does not respond."""

    down: int
    """The volume cannot be reached."""

    denied: int
    """Other gateways do not let this principal request the items."""

    missing: int
    """Other gateways have no such mount."""

    rejected: int
    """Other gateways reject the query. A lookup gets a code after which clients retry, because an
    operator may correct the route."""


OF_CLUSTER: Final = Codes(
    down=REQUEST_TIMED_OUT,
    denied=CLUSTER_AUTHORIZATION_FAILED,
    missing=INVALID_REQUEST,
    rejected=INVALID_REQUEST,
)
OF_TOPICS: Final = OF_CLUSTER._replace(
    denied=TOPIC_AUTHORIZATION_FAILED, missing=UNKNOWN_TOPIC_OR_PARTITION
)
"""For APIs whose items are topics, or mostly topics."""

OF_LOOKUPS: Final = OF_TOPICS._replace(
    down=LEADER_NOT_AVAILABLE, rejected=UNKNOWN_TOPIC_OR_PARTITION
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Division:
    """How the requests of an API divide by volume. If ``item``, ``whole`` and ``pages`` are not
    set, no volume owns anything that the requests name, and the listener's volume answers them."""

    item: Callable[[Any, Names], Item] | None = None
    """An entry of the request's array -> its item. The arrays are ``positions`` or ``arrays``, or
    else the arrays of the API's shapes, whose entries bear keys."""

    positions: tuple[str, str] | None = None
    """The arrays of the request and of the response, if their items match by position."""

    arrays: tuple[str, str] | None = None
    """The arrays of the request and of the response, if the API has no shapes and its items bear
    keys."""

    whole: Callable[[Any, Names], str | None] | None = None
    """A request -> the volume that the whole request is forwarded to; None to divide it."""

    of_node: Callable[[Any], bool] | None = None
    """A request -> whether only the node that the client is connected to can answer it: then the
    whole request is decided there, undivided. None: there are no such requests."""

    pages: Callable[[int, bytes, Any, Names], Parts | None] | None = None
    """(version, body, the parsed body, names) -> the parts of a request for pages; None if the
    listener's volume owns every name in the request."""

    all_if_empty_below: int = 0
    """Below this version an empty array, not null, requests everything."""

    drops_error: bool = False
    """Whether only the listener's volume may set the error of the whole response."""

    items_bear_error: bool = False
    """Whether an error of the whole response stands in each item, too. A response that is merged of
    several volumes then has no error of its own, because that would speak for all volumes."""

    keeps_error: bool = False
    """Whether the error of any volume is the error of the whole response, because items cannot bear
    an error, and an item that is left out reads as if there were nothing to tell."""

    not_under_home: bool = False
    """Whether requests are rejected where a home is in force. The gateway that the client is
    connected to does so, because no other gateway is told the client's home."""

    not_under_far_home: bool = False
    """The same where the home would be in a volume of another gateway."""

    codes: Codes = OF_CLUSTER

    denied: Callable[[Any], int] | None = None
    """A request -> the code in place of ``codes.denied``, if the code depends on the request."""

    failed: Callable[[int, bytes, int, str], bytes] | None = None
    """(version, part of a request, code, message) -> the response with this error for each item, if
    ``volume_down.failed`` cannot make that response. Raises ProtocolError."""

    when_down: Callable[[int, bytes, Recall], bytes] | None = None
    """(version, part of a request, the memory of its volume) -> the response while the volume
    cannot be reached, if that response is no error. Raises ProtocolError."""

    believed: Callable[[Any, Any, Requested], None] | None = None
    """(request, response of another gateway, the volume it was queried for): raises NotBelieved if
    the response holds more than was requested. None: ``far_answers`` checks the items."""

    @property
    def of_listener(self) -> bool:
        """Whether no volume owns anything that the requests name."""
        return self.item is None and self.whole is None and self.pages is None
