"""The end topic of a namespace that is deleted: what proves that a listing of topics is not late.

A broker answers a listing by what it has read of the cluster's metadata, and it reads of topics in
the order in which they were made. So a listing that holds the end topic, which is made after the
namespace was marked, holds every topic that was made before. Each process makes the same one, and
one that is there already is as good; its name tells this deletion from every other. Clients know no
topic of such a name, and cannot make one, whether or not there is the namespace
(``names.is_reserved``).

Its name is one of the namespace's and not of the gateway's own topics, on which the identity that
deletes topics may have no right (docs/brokers.md).
"""

from __future__ import annotations

from typing import Final

from gateway.changes.base.broker import delete_at_broker
from gateway.changes.base.context import Context
from gateway.changes.base.own_topics import BROKERS_DEFAULT, ONE_REPLICA, make_topics
from gateway.changes.base.rejected import BROKER
from gateway.decision import Denied
from gateway.error_codes import (
    INVALID_REPLICATION_FACTOR,
    NOT_CONTROLLER,
    REQUEST_TIMED_OUT,
    THROTTLING_QUOTA_EXCEEDED,
    TOPIC_ALREADY_EXISTS,
)
from gateway.names import END_TOPIC, InvalidName, LogicalName, encode

_MADE: Final = frozenset({0, TOPIC_ALREADY_EXISTS})
_UNDECIDED: Final = frozenset({REQUEST_TIMED_OUT, NOT_CONTROLLER, THROTTLING_QUOTA_EXCEEDED})
_TOO_FEW_BROKERS: Final = INVALID_REPLICATION_FACTOR
"""While brokers start they are fenced, and know less of the topics than ever."""


def end_topic(namespace: str, since: int) -> str | None:
    """The flat name of the end topic of a namespace that is marked ``since`` then (milliseconds);
    None if the namespace's own name leaves no room for one."""
    try:
        return encode(LogicalName(namespace, f"{END_TOPIC}{since}"))
    except InvalidName:
        return None


async def why_not_made(context: Context, flat: str) -> Denied | None:
    """Make an end topic; why the broker will not. None: it is made, or may be by the next try."""
    for replicas in (ONE_REPLICA, BROKERS_DEFAULT):
        found = (await make_topics(context, {flat: 1}, replicas))[flat]
        if not isinstance(found, Denied) or found.code in _MADE | _UNDECIDED | {_TOO_FEW_BROKERS}:
            return None
    return found if found.rule == BROKER else None


async def why_not_deletable(context: Context, flat: str) -> Denied | None:
    """Why the broker would not delete an end topic (``delete.topic.enable``, a right), which is not
    made then: it would stay. One that is there is deleted. Raises OSError."""
    outcome = (await delete_at_broker(context, {flat: None}))[flat]
    if outcome.gone or outcome.code in _UNDECIDED:
        return None
    return Denied(outcome.code, outcome.message or "", BROKER)
