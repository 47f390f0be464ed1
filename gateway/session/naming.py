"""Whether a request under way may name certain topics: a freeze waits for such requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from struct import Struct
from typing import Final

from gateway.exchanges.api import APIS
from gateway.exchanges.exchange import Exchange
from gateway.exchanges.framing import SIZE
from gateway.rules.declaration import DELETE, DESCRIBE, NOTHING, Do, Effect, Needs
from gateway.rules.rename import OF_ID
from gateway.session.own_requests import Asked
from protocol.entities import Kind, kind_of
from protocol.pausing import eased
from protocol.schema import FieldSpec, message_spec

_NAMES_TOPICS: Final = frozenset({Kind.TOPIC_NAME, Kind.TOPIC_ID, Kind.RESOURCE_NAME})
ANY_TOPIC: Final = b""
"""Stands for topics that are unknown, if a request's names were not read."""

NO_NEEDS: Final = Needs()

_HEAD: Final = Struct(">ih")
"""Size and API key of a request frame."""

ID_SIZE: Final = 16
"""Bytes of a topic id; a topic's name may have as many."""

Concerns = Callable[[bytes], bool]
"""Whether a topic, by its flat name or the broker's id, is concerned; or a group or transactional
id, which has the prefix ``OF_ID``."""


def may_concern(exchange: Exchange, concerns: Concerns) -> bool:
    """Whether a request may name topics that ``concerns`` accepts. If its names were not read, it
    may, unless no request of its API names topics. A request whose response a broker may hold back
    (``Waits``) never counts."""
    if not _is_clients(exchange) or exchange.plan.waits:
        return False
    return any(name == ANY_TOPIC or concerns(name) for name in names_in(exchange))


def leaves_behind(exchange: Exchange) -> bool:
    """Whether a broker may still change a topic for a request whose client is gone."""
    plan = exchange.plan
    if exchange.answer is not None or plan.waits or plan.api.effect is Effect.DESCRIPTION:
        return False
    if isinstance(exchange.kept, Asked):
        return True
    needs = plan.needs
    # Requests of members have no effect on a group that is made anew.
    if exchange.ids and (
        needs.group == DELETE or needs.transactional_id not in (NOTHING, DESCRIBE)
    ):
        return True
    return needs.topic != DESCRIBE and names_topics(plan.name, plan.version)


def answered_at_once(exchange: Exchange) -> bool:
    """Whether a broker answers a request without waiting for records, members, replicas or the
    controller."""
    return not exchange.plan.waits and exchange.plan.api.effect is not Effect.CHANGE


def may_leave_behind(sent: bytes) -> bool:
    """Whether a broker may still change something for bytes that a client has sent before it left,
    of which no request has been decided yet, or they are no Kafka, which the session has to report.
    A broker cannot for a request that has arrived in part, nor for ApiVersions, and most clients
    send nothing else before they know a broker."""
    at = 0
    while (unread := len(sent) - at) >= SIZE.size:
        if _is_not_kafka(sent, at):
            return True
        (size,) = SIZE.unpack_from(sent, at)
        if unread < SIZE.size + size:
            return False
        api = APIS[_HEAD.unpack_from(sent, at)[1]]
        if api.effect is Effect.CHANGE or api.needs != NO_NEEDS:
            return True
        at += SIZE.size + size
    return False


def ends_mid_request(sent: bytes) -> bool:
    """Whether the last of the requests that a client has sent has arrived in part."""
    at = 0
    while (unread := len(sent) - at) >= SIZE.size:
        (size,) = SIZE.unpack_from(sent, at)
        if _is_not_kafka(sent, at):
            return False
        if unread < SIZE.size + size:
            return True
        at += SIZE.size + size
    return unread > 0


def _is_not_kafka(sent: bytes, at: int) -> bool:
    """Whether no request begins here, as far as its first bytes tell."""
    (size,) = SIZE.unpack_from(sent, at)
    if size < _HEAD.size - SIZE.size:
        return True
    return len(sent) - at >= _HEAD.size and _HEAD.unpack_from(sent, at)[1] not in APIS


def names_in(exchange: Exchange) -> Iterator[bytes]:
    """The topics that a forwarded request names, by flat name or the broker's id, and the groups
    and transactional ids, with the prefix ``OF_ID``. If the topics were not read,
    :data:`ANY_TOPIC`. Many names may take several slices."""
    for own in eased(exchange.ids or ()):
        yield OF_ID + own
    if not names_topics(exchange.plan.name, exchange.plan.version):
        return
    if not (exchange.spelled or exchange.spelled_ids) and _may_mean_all(exchange):
        yield ANY_TOPIC
    yield from eased(exchange.spelled or ())
    for name in eased(exchange.spelled_ids or ()):
        if len(name) == ID_SIZE:  # a name of another length is a group
            yield name


def count_names(exchange: Exchange) -> int:
    """An upper bound, close to it, of the number of names that :func:`names_in` gives."""
    ids, names, topic_ids = exchange.ids or (), exchange.spelled or (), exchange.spelled_ids or ()
    return len(ids) + len(names) + len(topic_ids)


def _may_mean_all(exchange: Exchange) -> bool:
    """Whether a request that names no topic may be about all: its names were not read, or may be
    null, and null is forwarded."""
    plan = exchange.plan
    if exchange.spelled is None and exchange.spelled_ids is None:
        return True
    return plan.api.null is not Do.EXPAND and _may_leave_out(plan.name, plan.version)


@cache
def _may_leave_out(api: str, version: int) -> bool:
    message = f"{api}Request"
    return any(_is_optional(message, field) for field in message_spec(message, version).fields)


def _is_optional(message: str, field: FieldSpec) -> bool:
    if field.array and field.nullable and _names(message, field):
        return True
    return field.struct is not None and any(
        _is_optional(message, one) for one in field.struct.fields
    )


@cache
def names_topics(api: str, version: int) -> bool:
    """Whether requests of an API can name topics at a version."""
    message = f"{api}Request"
    return any(_names(message, field) for field in message_spec(message, version).fields)


def _names(message: str, field: FieldSpec) -> bool:
    if field.struct is None:
        return kind_of(message, field) in _NAMES_TOPICS
    inside = (*field.struct.fields, *field.struct.tagged)
    return any(_names(message, one) for one in inside)


def _is_clients(exchange: Exchange) -> bool:
    """Whether a broker has the request, and it is not a request of the gateway's own."""
    return exchange.answer is None and not isinstance(exchange.kept, Asked)
