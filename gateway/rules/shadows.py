"""Shadow topics: the topics under which a group keeps offsets of topics in other clusters.

An offset is stored at the group's coordinator, which checks only that the topic and the partition
exist there (KafkaApis: handleOffsetCommitRequest). So a topic of another volume has a **shadow** in
the group's own volume: an empty topic ``__kafka_gateway_far.<number>.<topic id>``, with the other
volume's number and the topic's id, as Kafka prints it. Kafka itself then fences, expires and resets
the offsets.

A member may also subscribe to a topic that does not exist yet. In its subscription, which a broker
parses only to compare names, such a topic is ``__kafka_gateway_far.<number>:<flat name>``.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple, Protocol

from gateway.decision import Denied, Resolved
from gateway.error_codes import COORDINATOR_LOAD_IN_PROGRESS
from gateway.mounts import MAX_NUMBER
from gateway.names import RESERVED_PREFIX

PREFIX: Final = f"{RESERVED_PREFIX}_far.".encode()

_SHADOW: Final = re.compile(re.escape(PREFIX) + rb"([1-9][0-9]{0,4})\.([A-Za-z0-9_-]{22})")
_EXPECTED: Final = re.compile(re.escape(PREFIX) + rb"([1-9][0-9]{0,4}):(.+)", re.DOTALL)
_PADDING: Final = b"=="
_BEING_CREATED: Final = "being_created"  # as ``gateway.apis.counting`` has it: it is no denial


class Origin(NamedTuple):
    """The topic behind a shadow: the ``number`` of its volume and its ``topic_id`` (16 bytes). A
    topic that did not exist has its ``flat`` name and an empty id."""

    number: int
    topic_id: bytes
    flat: bytes


def shadow_name(number: int, topic_id: bytes) -> bytes:
    """The flat name of the shadow of a topic in the volume of this number."""
    return b"%s%d.%s" % (PREFIX, number, urlsafe_b64encode(topic_id)[: -len(_PADDING)])


def expected_name(number: int, flat: bytes) -> bytes:
    """The name, used in subscriptions only, of a topic that does not exist in its volume."""
    return b"%s%d:%s" % (PREFIX, number, flat)


def is_shadow(flat: bytes) -> bool:
    """Whether :func:`origin_of` may resolve a flat name."""
    return flat.startswith(PREFIX)


def origin_of(flat: bytes) -> Origin | None:
    """The topic behind a name of :func:`shadow_name` or :func:`expected_name`; None for any other
    name."""
    found = _SHADOW.fullmatch(flat)
    if found is not None:
        number, topic_id = int(found[1]), urlsafe_b64decode(found[2] + _PADDING)
        # Base64 has several spellings of an id, which differ in unused bits: only one is a shadow.
        if number > MAX_NUMBER or shadow_name(number, topic_id) != flat:
            return None
        return Origin(number, topic_id, b"")
    found = _EXPECTED.fullmatch(flat)
    if found is None or int(found[1]) > MAX_NUMBER:
        return None
    return Origin(int(found[1]), b"", found[2])


def not_ready(name: str) -> Denied:
    """The denial of a topic whose shadow does not exist yet: COORDINATOR_LOAD_IN_PROGRESS, because
    clients then retry at the same coordinator."""
    why = (
        f"The offsets of topic '{name}', which is in another volume, cannot be kept at this"
        " group's cluster yet: their shadow topic could not be made, or the other cluster has not"
        " been reached. Try again."
    )
    return Denied(COORDINATOR_LOAD_IN_PROGRESS, why, _BEING_CREATED)


class Far(Protocol):
    """The topics of other volumes, for one request of a group's member.

    :class:`gateway.tree.far_topics.FarTopics`, which looks topics up in clusters and at
    other gateways. It is an interface because rules are pure, in a layer below all these.
    """

    def topic(self, operation: int, name: bytes) -> Resolved | Denied:
        """The shadow of the topic with this name, as the client spells it, if ``operation`` is
        allowed on the topic."""
        ...

    def topic_id(self, operation: int, topic_id: bytes) -> Resolved | Denied | None:
        """The shadow of the topic with this id, as the client knows it, if ``operation`` is allowed
        on the topic; None if no other volume has the topic."""
        ...

    def subscribed(self, name: bytes) -> bytes | None:
        """The name for a subscription or assignment; None if no topic can have this name, or if the
        client may not describe the topic."""
        ...

    def to_read(self, name: bytes) -> bytes | None:
        """The shadow of a topic that the client may describe and read, even if the topic is
        frozen; it is made if it is missing. None: there is no such topic now, as far as is known,
        or the client may not read it."""
        ...

    def is_unread(self, name: bytes) -> bool:
        """Whether nothing can be said yet of the topic with this name: this worker has read neither
        the topic nor that there is none, and its cluster does not answer."""
        ...

    def is_unread_shadow(self, flat: bytes) -> bool:
        """:meth:`is_unread` of the topic behind a shadow."""
        ...

    def shown(self, flat: bytes) -> bytes | None:
        """The listener's spelling of the topic behind a shadow; None: the topic is unknown, or
        if the client may not describe it."""
        ...

    @property
    def unheard(self) -> bool:
        """Whether this connection hid a topic for the first time. The gateway may not know yet, but
        will know soon, whether the client may describe the topic."""
        ...

    def id_to_show(self, flat: bytes, spelled: bytes | None) -> bytes | None:
        """The client's topic id of the topic behind a shadow, under the ``spelled`` name by which
        the client subscribed to it, or else under the listener's; None: the topic is unknown, or
        the client may not describe it."""
        ...

    def preparation(self) -> Callable[[], Awaitable[None]] | None:
        """The work to do before the request is decided again, for good; None if there is no such
        work."""
        ...

    def missed(self, flat: bytes, partition: int) -> bool:
        """Note that the broker did not know a shadow's partition. Returns whether it soon will."""
        ...
