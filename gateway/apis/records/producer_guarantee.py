"""The producer guarantee (KIP-679): what a topic's producers are held to, and what they are told.

``acks`` is one value for a whole request, so what one topic asks for holds for all that the request
is sent on with. Whether a producer is idempotent stands in the header of its batches (KIP-98).
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import Final

from gateway.decision import Denied
from gateway.error_codes import POLICY_VIOLATION
from gateway.policies.tree import (
    BUILT_IN,
    DEFAULT_NAMESPACE,
    EVERYWHERE,
    REQUIRE_ACKS,
    REQUIRE_IDEMPOTENCE,
)
from gateway.views.view import View
from protocol.errors import TruncatedError
from protocol.records import BATCH_HEADER_SIZE, batch_facts, is_older_format

ACKS_ALL: Final = -1
ACKS_NONE: Final = 0
WEAK_ACKS: Final = frozenset({0, 1})
"""What is less than all. Other values are no acks at all: the broker refuses them."""

LEAST_TIMEOUT_MS: Final = 30_000
"""Milliseconds that a broker waits for its replicas at least, where acks were raised: the default
of producers (request.timeout.ms). One that asks for acks=0 or acks=1 may ask for less without
harm, as brokers look at it with acks=all only."""

_ACKS_AND_TIMEOUT: Final = Struct(">hi")
RAISED_SIZE: Final = _ACKS_AND_TIMEOUT.size
"""Bytes: acks, and timeout_ms right behind them in every version (ProduceRequest.json)."""

Batch = tuple[bytes, int, int]
"""A partition's records: the flat topic, where they begin and where they end (before their
beginning if they are null; beyond what has arrived, maybe)."""

_SETTERS: Final = {
    EVERYWHERE: "set for every namespace",
    DEFAULT_NAMESPACE: "set for the default namespace",
    BUILT_IN: "the default",
}
_OF_A_NAMESPACE: Final = "policies.namespaces."


def raised(buf: bytes, at: int) -> bytes:
    """What stands in a request instead of the acks at ``at``, and of the timeout behind them."""
    _, timeout_ms = _ACKS_AND_TIMEOUT.unpack_from(buf, at)
    return _ACKS_AND_TIMEOUT.pack(ACKS_ALL, max(timeout_ms, LEAST_TIMEOUT_MS))


def holds_back(view: View, flat: bytes, acks: int) -> Denied | None:
    """Why a topic does not take a request with these acks; None: it does."""
    if acks not in WEAK_ACKS or not view.guarantee_of(flat) & REQUIRE_ACKS:
        return None
    source = view.policies.guarantee(_namespace(view, flat)).acks_source
    topic, setter = _told(view, flat, source)
    why = (
        f"{topic} is written with acks=all only, and this request has acks={acks}"
        f" (policies: producer.acks{setter}); set acks=all in the producer."
    )
    return Denied(POLICY_VIOLATION, why, "producer_guarantee")


def not_idempotent(view: View, buf: bytes, end: int, batches: Iterable[Batch]) -> set[bytes]:
    """The flat names of topics that take idempotent producers only, and batches of which are from
    another one. Raises TruncatedError where a header that says so has not arrived by ``end``.
    """
    found: set[bytes] = set()
    for flat, start, stop in batches:
        # Without records there is no batch: the broker has a word for that.
        if stop <= start or not view.guarantee_of(flat) & REQUIRE_IDEMPOTENCE:
            continue
        if stop > end and end - start < BATCH_HEADER_SIZE:
            raise TruncatedError("a batch header has not arrived")
        facts = batch_facts(buf, start, min(end, stop))
        if facts is None or not facts[1]:
            found.add(flat)
    return found


def idempotence_denial(view: View, flat: bytes, *, older: bool) -> Denied:
    """What the producer of such a batch is told; ``older``: it is of a format without producers."""
    source = view.policies.guarantee(_namespace(view, flat)).idempotence_source
    if older:
        what = "and this record batch is of magic 0 or 1, which knows none"
        advice = "use a client of Kafka 0.11 or later, with enable.idempotence=true"
    else:
        what = "and this record batch is not of one"
        advice = "set enable.idempotence=true in the producer"
    topic, setter = _told(view, flat, source)
    why = (
        f"{topic} takes records of idempotent producers only, {what}"
        f" (policies: producer.idempotence{setter}); {advice}."
    )
    return Denied(POLICY_VIOLATION, why, "producer_guarantee")


def older_format(buf: bytes, end: int, flat: bytes, batches: Iterable[Batch]) -> bool:
    """Whether a topic is sent records of a format before KIP-98."""
    return any(
        topic == flat and is_older_format(buf, start, min(end, stop))
        for topic, start, stop in batches
    )


def _namespace(view: View, flat: bytes) -> str:
    return view.snapshot.owner(flat.decode(errors="replace")).namespace


def _told(view: View, flat: bytes, source: str) -> tuple[str, str]:
    """How a topic is called, and who set its rule. Whoever sees it by an alias alone is not told
    where it is, so not by a namespace around it either."""
    shown = view.spell(flat)
    if shown is None:
        return "This topic", ""
    return f"Topic '{shown.decode()}'", f", {_setter(source)}"


def _setter(source: str) -> str:
    if source.startswith(_OF_A_NAMESPACE):
        return f"set by namespace '{source.removeprefix(_OF_A_NAMESPACE)}'"
    return _SETTERS.get(source, source)
