"""The producer guarantee: which producers are subject to it, and the errors of those that miss
it."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from gateway.apis.records.producer_guarantee import (
    RAISED_SIZE,
    acks_denial,
    has_older_format,
    idempotence_denial,
    not_idempotent,
    raised,
)
from gateway.catalog.entities import TopicEntry
from gateway.catalog.snapshot import Snapshot
from gateway.config.policies import PolicySettings
from gateway.error_codes import POLICY_VIOLATION
from gateway.names import LogicalName
from gateway.policies.tree import Policies
from gateway.views.view import View, ViewSettings
from protocol.errors import TruncatedError
from protocol.records import BATCH_HEADER_SIZE
from tests.session.producing import batch, old_batch

MOVED = TopicEntry("moved", LogicalName("org:apache", "moved"))
SNAPSHOT = Snapshot.of(["org:apache", "team-a"], topics=[MOVED])


def view(*, home: str = "", **policies: Any) -> View:
    settings = PolicySettings.model_validate(policies)
    return View(ViewSettings("test", home=home), SNAPSHOT, Policies(settings))


def requiring(what: str) -> dict[str, Any]:
    return {"producer": {what: "require"}}


ORG = {"org": requiring("acks")}


@pytest.mark.parametrize(
    ("flat", "acks", "held"),
    [
        (b"org..x", 1, True),
        (b"org..x", 0, True),
        (b"org..x", -1, False),
        (b"org..x", 2, False),
        (b"org.apache..x", 1, True),
        (b"moved", 1, True),
        (b"team-a..x", 1, False),
        (b"x", 1, False),
    ],
)
def test_what_requires_all_acks_holds_back_what_has_less(
    flat: bytes, acks: int, held: bool
) -> None:
    found = acks_denial(view(namespaces=ORG), flat, acks)
    assert (found is not None) is held
    assert found is None or (found.code, found.rule) == (POLICY_VIOLATION, "producer_guarantee")


def test_by_default_nothing_is_held_back() -> None:
    everyone = view()
    assert acks_denial(everyone, b"org..x", 0) is None
    assert acks_denial(everyone, b"x", 0) is None
    assert not_idempotent(everyone, b"", 0, [(b"org..x", 0, 0)]) == set()


@pytest.mark.parametrize(
    ("policies", "flat", "setter"),
    [
        ({"namespaces": ORG}, b"org.apache..x", "set by namespace 'org'"),
        ({"everywhere": requiring("acks")}, b"x", "set for every namespace"),
        ({"default_namespace": requiring("acks")}, b"x", "set for the default namespace"),
    ],
)
def test_the_sentence_says_who_requires_it(
    policies: dict[str, Any], flat: bytes, setter: str
) -> None:
    denied = acks_denial(view(**policies), flat, 1)
    assert denied is not None
    assert denied.message.endswith(
        f"is written with acks=all only, and this request has acks=1 (policies: producer.acks,"
        f" {setter}); set acks=all in the producer."
    )


def test_the_topic_is_called_as_the_view_shows_it() -> None:
    at_home = view(home="org:apache", namespaces=ORG)
    denied = acks_denial(at_home, b"org.apache..x", 1)
    assert denied is not None
    assert denied.message.startswith("Topic 'x' is ")
    outside = acks_denial(at_home, b"org..x", 1)
    assert outside is not None
    assert outside.message == (
        "This topic is written with acks=all only, and this request has acks=1"
        " (policies: producer.acks); set acks=all in the producer."
    )


def test_the_batch_header_says_whether_the_producer_is_idempotent() -> None:
    strict = view(namespaces={"org": requiring("idempotence")})
    good, bad = batch(1, producer_id=7), batch(1)
    old = old_batch(1)
    buf = good + bad + old
    first, second = len(good), len(good + bad)
    batches = [
        (b"org..good", 0, first),
        (b"org..bad", first, second),
        (b"org..old", second, len(buf)),
        (b"team-a..x", first, second),
        (b"org..null", 4, 3),
    ]
    assert not_idempotent(strict, buf, len(buf), batches) == {b"org..bad", b"org..old"}
    assert has_older_format(buf, len(buf), b"org..old", batches)
    assert not has_older_format(buf, len(buf), b"org..bad", batches)


def test_one_partition_decides_for_its_topic() -> None:
    strict = view(everywhere=requiring("idempotence"))
    good, bad = batch(1, producer_id=7), batch(1)
    buf = good + bad
    batches = [(b"x", 0, len(good)), (b"x", len(good), len(buf))]
    assert not_idempotent(strict, buf, len(buf), batches) == {b"x"}


@pytest.mark.parametrize("arrived", [0, 1, BATCH_HEADER_SIZE - 1])
def test_a_header_that_has_yet_to_arrive_is_waited_for(arrived: int) -> None:
    strict = view(everywhere=requiring("idempotence"))
    whole = batch(1, producer_id=7)
    with pytest.raises(TruncatedError):
        not_idempotent(strict, whole[:arrived], arrived, [(b"x", 0, len(whole))])
    end = BATCH_HEADER_SIZE
    assert not_idempotent(strict, whole[:end], end, [(b"x", 0, len(whole))]) == set()


def test_a_batch_that_is_too_short_is_of_nobody() -> None:
    strict = view(everywhere=requiring("idempotence"))
    assert not_idempotent(strict, b"abc", 3, [(b"x", 0, 3)]) == {b"x"}


def test_what_a_producer_that_is_not_idempotent_is_told() -> None:
    strict = view(everywhere=requiring("idempotence"))
    plain = idempotence_denial(strict, b"org..x", older=False)
    assert plain.code == POLICY_VIOLATION
    assert plain.message == (
        "Topic 'org:x' takes records of idempotent producers only, and this record batch is not"
        " of one (policies: producer.idempotence, set for every namespace);"
        " set enable.idempotence=true in the producer."
    )
    older = idempotence_denial(strict, b"x", older=True)
    assert "magic 0 or 1" in older.message
    assert "enable.idempotence=true" in older.message


def test_who_does_not_see_the_topic_is_not_told_who_set_its_rule() -> None:
    at_home = view(home="team-a", namespaces={"org": requiring("idempotence")})
    for older in (False, True):
        told = idempotence_denial(at_home, b"org..x", older=older).message
        assert told.startswith("This topic takes records of idempotent producers only, ")
        assert "(policies: producer.idempotence); " in told
        assert "org" not in told


@pytest.mark.parametrize(
    ("timeout_ms", "expected"),
    [(-(2**31), 30_000), (0, 30_000), (29_999, 30_000), (30_001, 30_001), (2**31 - 1, 60_000)],
)
@pytest.mark.parametrize("acks", [0, 1])
def test_acks_are_raised_with_a_timeout_that_brokers_can_keep(
    acks: int, timeout_ms: int, expected: int
) -> None:
    request = b"\0\0" + struct.pack(">hi", acks, timeout_ms) + b"\1"
    assert raised(request, 2) == struct.pack(">hi", -1, expected)
    assert len(raised(request, 2)) == RAISED_SIZE
