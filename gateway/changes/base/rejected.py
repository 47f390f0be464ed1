"""Errors with which a change is rejected, and how they name things in the client's spelling."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any, Final

from gateway.catalog.source import CatalogUnavailable
from gateway.decision import Denied
from gateway.error_codes import (
    INVALID_TOPIC_EXCEPTION,
    POLICY_VIOLATION,
    REQUEST_TIMED_OUT,
    SECURITY_DISABLED,
)
from gateway.names import DELIMITER, SLASH, LogicalName
from gateway.rules.error_text import cut
from gateway.views.spelling import spell_name
from gateway.views.view import View
from protocol.pausing import paced

UNAVAILABLE: Final = "unavailable"
"""The rule of errors for things that are unknown, or cannot be done, now."""

BROKER: Final = "broker"
"""The rule of errors with which the broker responds."""


def try_again(text: str) -> Denied:
    """The error for an action or query that failed now; its code is retriable."""
    return Denied(REQUEST_TIMED_OUT, f"{text}; try again.", UNAVAILABLE)


UNDECIDED: Final = frozenset({REQUEST_TIMED_OUT, SECURITY_DISABLED})
"""Error codes that are no denials, whichever rule returns them."""

UNANSWERED: Final = try_again("The broker does not say what became of it")
"""The error for an item that a broker's response leaves out."""


class Rejected(Exception):
    """The change is not made, and the client gets the error ``why``. If it is raised inside a
    catalog change, the catalog stays as it is."""

    def __init__(self, code: int, message: str, rule: str = "namespaces") -> None:
        super().__init__(message)
        self.why = Denied(code, message, rule)

    @classmethod
    def of(cls, why: Denied) -> Rejected:
        """The exception for the error of a rule or of the broker, which it holds unchanged."""
        rejected = cls(why.code, why.message, why.rule)
        rejected.why = why
        return rejected


def reject_if(why: Denied | None) -> None:
    """Raise :class:`Rejected` with the error, if there is one."""
    if why is not None:
        raise Rejected.of(why)


def reserved_name(name: str) -> Rejected:
    """The rejection of a name that no topic may get (``names.is_reserved_name``)."""
    return Rejected(INVALID_TOPIC_EXCEPTION, f"Topic name '{name}' is reserved.", "reserved")


def fitting(why: Denied) -> Denied:
    """The error with a text that fits a string of Kafka's: it may quote a name or a value that
    does not."""
    return replace(why, message=cut(why.message.encode()).decode())


def is_denial(why: Denied) -> bool:
    """Whether an error is a denial, which goes to the audit log: a rule of the gateway decided it.

    A broker's errors are no denials. Nothing is decided when the client is to try again, or without
    any ACLs.
    """
    return why.rule not in (BROKER, UNAVAILABLE) and why.code not in UNDECIDED


def unavailable(error: OSError) -> Denied:
    """The retriable error for a catalog or a cluster that does not respond. The cluster's own
    errors hold addresses, so their texts are not shown to the client."""
    if isinstance(error, CatalogUnavailable):
        text = str(error)
    else:
        text = "The cluster does not answer now, so it is not known what was done; try again."
    return Denied(REQUEST_TIMED_OUT, text, UNAVAILABLE)


def respelled(why: Denied, name: str, spelled: str) -> Denied:
    """The error with the client's spelling ``spelled`` in place of the full ``name``."""
    return replace(why, message=why.message.replace(f"'{name}'", f"'{spelled}'"))


def shown_topic(view: View, name: LogicalName) -> str:
    """A topic's name in the view's spelling, whether or not the topic exists; else its full
    name."""
    return spell_name(view.settings, view.snapshot, name) or str(name)


def shown_namespace(view: View, path: str) -> str:
    """A namespace's name in messages: the view's spelling without the final colon."""
    return (view.spell_namespace(path) or path).removesuffix(DELIMITER).removesuffix(SLASH)


def list_names(names: Collection[str], hidden: int = 0) -> str:
    """Names for a message: the first few, and the number of further names. ``hidden``: the number
    of names that may not be shown, which are counted too."""
    first = [f"'{name}'" for name in sorted(names)[:MAX_NAMES]]
    more = len(names) - len(first) + hidden
    if more:
        first.append(f"{more} more" if first else f"{more} that you do not see here")
    return ", ".join(first)


MAX_NAMES: Final = 10
"""Names in one error message, which gives the number of the further names."""

MAX_CHANGES: Final = 10_000
"""Records of one request (QuorumController.MAX_RECORDS_PER_USER_OP), and partitions that it creates
(ReplicationControlManager.MAX_PARTITIONS_PER_BATCH)."""

TOO_MANY_CHANGES: Final = Denied(
    POLICY_VIOLATION, "Unable to perform excessively large batch operation.", "request"
)
TOO_MANY_PARTITIONS: Final = Denied(
    POLICY_VIOLATION, "Excessively large number of partitions per request.", "request"
)


def too_many_partitions(topics: Iterable[Any]) -> Denied | None:
    """Why a CreateTopics request has too many partitions, or None if it does not. A topic that
    leaves its partition count to the cluster counts as one partition."""
    total = 0
    for topic in paced(topics):
        count = int(topic.num_partitions)
        total += len(topic.assignments) or (1 if count == -1 else max(count, 0))
    return TOO_MANY_PARTITIONS if total > MAX_CHANGES else None
