"""How requests divide by volume: what the declaration of an API says of it.

A **volume** is one Kafka cluster of a tree, known by its mount (``la:tracking``). ``volume_parts``
divides requests and merges the answers, ``volume_down`` answers for a volume that does not. What is
of one API alone stands in its slice, as the functions that a :class:`Division` names.
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
"""A topic as it was last seen: the 16 bytes of its id, if it has one, and how many partitions."""

Recall = Callable[[Iterable[str] | None, Iterable[bytes]], Mapping[str, Remembered]]
"""(names, None: all that are listed; topic ids) -> those that the volume had when it was last seen
and that the principal may describe, by their names as the client spells them."""


class Names(Protocol):
    """The volume of each name, as its mount path, for the clients of one listener. A protocol,
    because ``connections`` has what knows it, and rules are pure."""

    @property
    def own(self) -> str:
        """The listener's volume."""

    def topic(self, name: bytes) -> str:
        """The volume of a topic, or of what would be one."""

    def topic_id(self, topic_id: bytes) -> str | None:
        """The volume of a topic by the 16 bytes of its id; None: no volume knows it."""

    def group(self, group_id: bytes) -> str:
        """The volume of a group or a transactional id."""

    def acl_pattern(self, resource_type: int, pattern_type: int, name: str | None) -> str:
        """The volume of an ACL's pattern or of a filter's (``name`` None: any)."""

    def flat(self, name: bytes) -> bytes | None:
        """A topic's name in its own cluster, by which DescribeTopicPartitions is sorted, or None if
        no topic can have this name, or the client may not describe it."""


@dataclass(frozen=True, slots=True)
class Requested:
    """Of which volume another gateway's response may tell: the one at ``path``. ``topic`` and
    ``acl_pattern`` give the volume of a name or pattern, as the client writes it; ``has_id`` says
    whether a volume of this gateway has a topic of an id."""

    path: str
    topic: Callable[[bytes], str]
    acl_pattern: Callable[[int, int, str | None], str]
    has_id: Callable[[bytes], bool]


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a request: its volume, and the key that its answer bears (None: no key, the
    answer is in the same place)."""

    volume: str
    key: Hashable | None


@dataclass(frozen=True, slots=True)
class Parts:
    """A request divided by volume: ``bodies`` has a request body, at the same version, for each.

    ``only`` is the volume that the whole request belongs to, if it is one: its body is then the
    client's own. ``own`` is the listener's volume, ``items`` are the items in the order of the
    request. ``merger`` merges the answers where an API has its own way to.
    """

    version: int
    bodies: Mapping[str, bytes]
    own: str
    items: tuple[Item, ...] = ()
    only: str | None = None
    merger: Callable[[Parts, Mapping[str, bytes]], bytes] | None = None


class Codes(NamedTuple):
    """The error codes for what was requested of a volume that does not answer."""

    down: int
    """It cannot be reached."""

    denied: int
    """Other gateways do not let this principal request it."""

    missing: int
    """Other gateways know no such mount."""

    rejected: int
    """Other gateways reject the question. An operator may correct the route, so that a lookup gets
    a code after which clients try again."""


OF_CLUSTER: Final = Codes(
    down=REQUEST_TIMED_OUT,
    denied=CLUSTER_AUTHORIZATION_FAILED,
    missing=INVALID_REQUEST,
    rejected=INVALID_REQUEST,
)
OF_TOPICS: Final = OF_CLUSTER._replace(
    denied=TOPIC_AUTHORIZATION_FAILED, missing=UNKNOWN_TOPIC_OR_PARTITION
)
"""For APIs whose items are topics, or mostly."""

OF_LOOKUPS: Final = OF_TOPICS._replace(
    down=LEADER_NOT_AVAILABLE, rejected=UNKNOWN_TOPIC_OR_PARTITION
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Division:
    """How the requests of an API divide by volume. Where it says nothing, they name nothing that a
    volume owns, and the listener's volume answers them."""

    item: Callable[[Any, Names], Item] | None = None
    """An entry of the request's array -> its item. The arrays are those of the API's shapes, whose
    entries bear keys, or ``positions``."""

    positions: tuple[str, str] | None = None
    """The arrays of the request and of the response, if items belong together by position."""

    whole: Callable[[Any, Names], str | None] | None = None
    """A request -> the volume that it is forwarded to as a whole, or None if it is divided."""

    pages: Callable[[int, bytes, Any, Names], Parts | None] | None = None
    """Divides requests for pages: (version, body, the same read, names). None: all that a request
    names is the listener's volume's."""

    all_if_empty_below: int = 0
    """Requests of the versions below this one request all by an empty array, not by null."""

    drops_error: bool = False
    """Whether the error of the whole response is that of the listener's volume alone."""

    codes: Codes = OF_CLUSTER

    denied: Callable[[Any], int] | None = None
    """A request -> the code in place of ``codes.denied``, if it depends on the request."""

    failed: Callable[[int, bytes, int, str], bytes] | None = None
    """(version, part of a request, code, message) -> the response in which each item has this
    error, where ``volume_down.failed`` cannot make it. Raises ProtocolError."""

    when_down: Callable[[int, bytes, Recall], bytes] | None = None
    """(version, part of a request, what its volume is remembered for) -> the response while the
    volume cannot be reached, where that is no error. Raises ProtocolError."""

    believed: Callable[[Any, Any, Requested], None] | None = None
    """Checks (request, response of another gateway, what that may tell): raises NotBelieved for
    what is more. None: ``far_answers`` checks the items."""

    @property
    def of_listener(self) -> bool:
        """Whether requests name nothing that a volume owns."""
        return self.item is None and self.whole is None and self.pages is None
