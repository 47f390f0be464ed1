"""How a change says no: an error for the client instead of a change."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from gateway.catalog.source import CatalogUnavailable
from gateway.decision import Denied
from gateway.error_codes import POLICY_VIOLATION, REQUEST_TIMED_OUT
from gateway.names import LogicalName
from gateway.views.spelling import spell_name
from gateway.views.view import View
from protocol.pausing import paced

UNAVAILABLE: Final = "unavailable"
"""The rule of what is not refused, but not known or done now."""

BROKER: Final = "broker"
"""The rule of what the broker rejects."""


def try_again(text: str) -> Denied:
    """The error for what could not be done or found out now; its code is retriable."""
    return Denied(REQUEST_TIMED_OUT, f"{text}; try again.", UNAVAILABLE)


UNANSWERED: Final = try_again("The broker does not say what became of it")
"""What a client is told of an item that a broker's answer leaves out."""


class Refused(Exception):
    """Nothing is changed; ``why`` is what the client is told.

    It is raised inside of a catalog change, too, which writes nothing then.
    """

    def __init__(self, code: int, message: str, rule: str = "namespaces") -> None:
        super().__init__(message)
        self.why = Denied(code, message, rule)

    @classmethod
    def of(cls, why: Denied) -> Refused:
        """With what a rule found, or the broker said, against the change."""
        return cls(why.code, why.message, why.rule)


def refuse_if(why: Denied | None) -> None:
    """Raise :class:`Refused` with what was found against a change; None: nothing was."""
    if why is not None:
        raise Refused.of(why)


def unavailable(error: OSError) -> Denied:
    """What a client is told when the catalog or the cluster cannot be asked now.

    The code is retriable. What the cluster's own errors say holds addresses, so it is not told.
    """
    if isinstance(error, CatalogUnavailable):
        text = str(error)
    else:
        text = "The cluster does not answer now, so it is not known what was done; try again."
    return Denied(REQUEST_TIMED_OUT, text, UNAVAILABLE)


def called(why: Denied, name: str, spelled: str) -> Denied:
    """A refusal that speaks of what has the full ``name`` as the client does."""
    return replace(why, message=why.message.replace(f"'{name}'", f"'{spelled}'"))


def shown_topic(view: View, name: LogicalName) -> str:
    """A topic that there may be, as the view spells it; its full name where it has none there."""
    return spell_name(view.settings, view.snapshot, name) or str(name)


MAX_CHANGES: Final = 10_000
"""Records (QuorumController.MAX_RECORDS_PER_USER_OP), and partitions that are made
(ReplicationControlManager.MAX_PARTITIONS_PER_BATCH)."""

TOO_MANY_CHANGES: Final = Denied(
    POLICY_VIOLATION, "Unable to perform excessively large batch operation.", "request"
)
TOO_MANY_PARTITIONS: Final = Denied(
    POLICY_VIOLATION, "Excessively large number of partitions per request.", "request"
)


def too_many_partitions(topics: Iterable[Any]) -> Denied | None:
    """Why the topics of a CreateTopics request are too many for one; None: they are not.

    Where a topic leaves it to the cluster how many partitions it gets, it counts as one.
    """
    total = 0
    for topic in paced(topics):
        asked = int(topic.num_partitions)
        total += len(topic.assignments) or (1 if asked == -1 else max(asked, 0))
    return TOO_MANY_PARTITIONS if total > MAX_CHANGES else None
