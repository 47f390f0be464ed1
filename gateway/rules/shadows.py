"""Shadow topics: a group keeps its offsets of topics in other clusters under their names.

An offset stands at the group's coordinator, which checks only that the topic and the partition
exist there (KafkaApis: handleOffsetCommitRequest). So a topic of another volume has a **shadow** in
the group's own: an empty topic ``__kafka_gateway_far.<number>.<topic id>``, the number being the
other volume's and the id the topic's, as Kafka prints it. Fencing, expiry and resets of offsets are
Kafka's own then.

A member may also subscribe to a topic that does not exist yet. Inside its subscription, which no
broker reads but to compare names, it is ``__kafka_gateway_far.<number>:<flat name>``.
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
    """The topic behind a shadow: the ``number`` of its volume and its ``topic_id`` (16 bytes); of
    one that did not exist its ``flat`` name, and no id."""

    number: int
    topic_id: bytes
    flat: bytes


def shadow_name(number: int, topic_id: bytes) -> bytes:
    """The flat name of the shadow of a topic in the volume of this number."""
    return b"%s%d.%s" % (PREFIX, number, urlsafe_b64encode(topic_id)[: -len(_PADDING)])


def expected_name(number: int, flat: bytes) -> bytes:
    """The name, in subscriptions only, of a topic that does not exist in the volume."""
    return b"%s%d:%s" % (PREFIX, number, flat)


def is_shadow(flat: bytes) -> bool:
    """Whether a flat name is one that :func:`origin_of` may read."""
    return flat.startswith(PREFIX)


def origin_of(flat: bytes) -> Origin | None:
    """The topic that a name of :func:`shadow_name` or :func:`expected_name` stands for; None for
    any other name."""
    found = _SHADOW.fullmatch(flat)
    if found is not None:
        number, topic_id = int(found[1]), urlsafe_b64decode(found[2] + _PADDING)
        # Two spellings of one id differ in bits that are not of the id.
        if number > MAX_NUMBER or shadow_name(number, topic_id) != flat:
            return None
        return Origin(number, topic_id, b"")
    found = _EXPECTED.fullmatch(flat)
    if found is None or int(found[1]) > MAX_NUMBER:
        return None
    return Origin(int(found[1]), b"", found[2])


def not_ready(name: str) -> Denied:
    """The denial of a topic whose shadow is not there (yet). Clients retry after this error, and
    look for no other coordinator (COORDINATOR_LOAD_IN_PROGRESS)."""
    why = (
        f"The offsets of topic '{name}', which is in another volume, cannot be kept at this"
        " group's cluster yet: their shadow topic could not be made, or the other cluster has not"
        " been reached. Try again."
    )
    return Denied(COORDINATOR_LOAD_IN_PROGRESS, why, _BEING_CREATED)


class Far(Protocol):
    """The topics of other volumes, as one request of a group's member names them."""

    def topic(self, operation: int, name: bytes) -> Resolved | Denied:
        """The shadow of a topic that a client's spelling names, if ``operation`` is allowed on the
        topic."""
        ...

    def topic_id(self, operation: int, topic_id: bytes) -> Resolved | Denied | None:
        """The shadow of a client's topic id, as ``topic``, or None if no other volume has the
        topic."""
        ...

    def subscribed(self, name: bytes) -> bytes | None:
        """The name for a subscription or assignment, or None if no topic can have this name, or the
        client may not describe it."""
        ...

    def shown(self, flat: bytes) -> bytes | None:
        """The listener's spelling of the topic behind a shadow; None if it is not known, or the
        client may not describe it."""
        ...

    @property
    def unheard(self) -> bool:
        """Whether a topic was not shown to this connection for the first time: it may be that it is
        not known yet, but soon will be, whether the client may describe it."""
        ...

    def id_to_show(self, flat: bytes) -> bytes | None:
        """The topic id by which the client knows the topic behind a shadow; None: unknown."""
        ...

    def preparation(self) -> Callable[[], Awaitable[None]] | None:
        """The work to do before the request is decided again, for good, or None if there is
        none."""
        ...

    def missed(self, flat: bytes, partition: int) -> bool:
        """Note that the broker did not know a shadow's partition; returns whether it soon will."""
        ...
