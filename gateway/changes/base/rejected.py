"""Errors that a change is rejected with, and how they name things in the client's spelling."""

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
from gateway.views.spelling import spell_name
from gateway.views.view import View
from protocol.pausing import paced

UNAVAILABLE: Final = "unavailable"
"""The rule of errors for what is not known, or cannot be done, now."""

BROKER: Final = "broker"
"""The rule of errors that the broker responds with."""


def try_again(text: str) -> Denied:
    """The error for what could not be done or found out now; its code is retriable."""
    return Denied(REQUEST_TIMED_OUT, f"{text}; try again.", UNAVAILABLE)


UNDECIDED: Final = frozenset({REQUEST_TIMED_OUT, SECURITY_DISABLED})
"""Error codes that are no denials, whichever rule gives them."""

UNANSWERED: Final = try_again("The broker does not say what became of it")
"""The error for an item that a broker's response leaves out."""


class Rejected(Exception):
    """Nothing is changed, and the client gets the error ``why``. Raised inside a catalog change it
    leaves the catalog as it is."""

    def __init__(self, code: int, message: str, rule: str = "namespaces") -> None:
        super().__init__(message)
        self.why = Denied(code, message, rule)

    @classmethod
    def of(cls, why: Denied) -> Rejected:
        """The exception for a rule's, or the broker's, error, which it holds as it is."""
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


def is_denial(why: Denied) -> bool:
    """Whether an error is a denial, which the audit log has: one of the gateway's own rules decided
    it. A broker decides its own errors, and nothing is decided where the client is to try again or
    there are no ACLs at all."""
    return why.rule not in (BROKER, UNAVAILABLE) and why.code not in UNDECIDED


def unavailable(error: OSError) -> Denied:
    """The retriable error for a catalog or a cluster that does not answer. The cluster's own
    errors hold addresses, so their texts are kept from the client."""
    if isinstance(error, CatalogUnavailable):
        text = str(error)
    else:
        text = "The cluster does not answer now, so it is not known what was done; try again."
    return Denied(REQUEST_TIMED_OUT, text, UNAVAILABLE)


def respelled(why: Denied, name: str, spelled: str) -> Denied:
    """The error with ``spelled``, as the client writes it, in place of the full ``name``."""
    return replace(why, message=why.message.replace(f"'{name}'", f"'{spelled}'"))


def shown_topic(view: View, name: LogicalName) -> str:
    """A topic, whether or not it exists, as the view spells it; else its full name."""
    return spell_name(view.settings, view.snapshot, name) or str(name)


def shown_namespace(view: View, path: str) -> str:
    """A namespace as messages name it: the view's spelling without the final colon."""
    return (view.spell_namespace(path) or path).removesuffix(DELIMITER).removesuffix(SLASH)


def list_names(names: Collection[str], hidden: int = 0) -> str:
    """Names for a message: the first few, and how many more there are; ``hidden`` more may not be
    named."""
    first = [f"'{name}'" for name in sorted(names)[:MAX_NAMES]]
    more = len(names) - len(first) + hidden
    if more:
        first.append(f"{more} more" if first else f"{more} that you do not see here")
    return ", ".join(first)


MAX_NAMES: Final = 10
"""Names in one error message; of the others it says how many there are."""

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
    """Why a CreateTopics request asks for too many partitions, or None if it does not. A topic that
    leaves its partition count to the cluster counts as one."""
    total = 0
    for topic in paced(topics):
        count = int(topic.num_partitions)
        total += len(topic.assignments) or (1 if count == -1 else max(count, 0))
    return TOO_MANY_PARTITIONS if total > MAX_CHANGES else None
