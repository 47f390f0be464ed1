"""The end topic of a namespace that is being deleted: it proves that a listing of topics is not
late.

A broker answers a listing from the part of the cluster's metadata that it has read, and it reads
topics in the order in which they were created. The end topic is created after the namespace was
marked. So a listing that holds the end topic holds every topic that was created before. All
processes create an end topic of the same name, and an existing end topic serves as well; its name
differs from the names of all other deletions. Clients see no topic of such a name, and cannot
create one, whether or not the namespace exists (``names.is_reserved``).

Its name is a name in the namespace and not one of the gateway's own topics: the identity that
deletes topics may have no right on these (docs/brokers.md).
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
"""While brokers start they are fenced, so there are too few for the replicas. Their listings are
most likely late then, so the end topic is tried again."""


def end_topic(namespace: str, since: int) -> str | None:
    """The flat name of the end topic of a namespace that was marked at ``since`` (milliseconds);
    None if the namespace's own name is too long for an end topic."""
    try:
        return encode(LogicalName(namespace, f"{END_TOPIC}{since}"))
    except InvalidName:
        return None


async def why_not_made(context: Context, flat: str) -> Denied | None:
    """Create an end topic; why the broker rejects it. None: it was created, or the next try may
    create it."""
    for replicas in (ONE_REPLICA, BROKERS_DEFAULT):
        found = (await make_topics(context, {flat: 1}, replicas))[flat]
        if not isinstance(found, Denied) or found.code in _MADE | _UNDECIDED | {_TOO_FEW_BROKERS}:
            return None
    return found if found.rule == BROKER else None


async def why_not_deletable(context: Context, flat: str) -> Denied | None:
    """Why the broker would not delete an end topic (``delete.topic.enable``, a right). Such an end
    topic is not created, because it would stay. An existing end topic is deleted. Raises
    OSError."""
    outcome = (await delete_at_broker(context, {flat: None}))[flat]
    if outcome.gone or outcome.code in _UNDECIDED:
        return None
    return Denied(outcome.code, outcome.message or "", BROKER)
