"""A request in flight is decided again as if it came now: its denials are reported, and counted,
once."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from gateway.catalog.entities import Freeze, Namespace
from gateway.catalog.freezes import Frozen
from protocol import messages
from protocol.messages import element_class, make
from tests.session.allowing import Allowing
from tests.session.pair import Pair, request_frame
from tests.session.test_decided_late import FLAT, NAME, OTHER, OTHER_FLAT, allow, on

MANY = [f"team-a:t{number}" for number in range(100)]


def named(api: str, version: int, *names: str, **values: Any) -> bytes:
    """A request with these topics, each with ``values``."""
    request = messages.message_class(f"{api}Request", version)
    topic = element_class(request, "topics")
    topics = tuple(make(topic, {"name": name, **values}) for name in names)
    return request_frame(api, version, messages.build(request, topics=topics))


def deleting(*names: str) -> bytes:
    topic = element_class(messages.message_class("DeleteRecordsRequest", 2), "topics")
    partition = make(element_class(topic, "partitions"), {"partition_index": 0, "offset": 5})
    return named("DeleteRecords", 2, *names, partitions=(partition,))


def denials(pair: Pair) -> Counter[str]:
    found: Counter[str] = Counter()
    for flow in (pair.session.state.flows or {}).values():
        found.update(flow.denials)
    return found


def test_denials_are_counted_once() -> None:
    pair = Pair(topics=[FLAT, OTHER_FLAT], authorizer=Allowing(on(NAME)))
    pair.send(named("Metadata", 9, NAME, OTHER))
    before = denials(pair)
    assert before.total() == 1
    for number in range(5):
        pair.log.append([Namespace(f"team-z{number}")])
        pair.catalog_changed()
        assert not pair.reset
    assert denials(pair) == before


@pytest.mark.parametrize("asked", [1, 100])
@pytest.mark.parametrize("freeze", [(), ("team-b:elsewhere",), (MANY[0],)])
def test_a_revoked_right_counts_whatever_is_frozen(asked: int, freeze: tuple[str, ...]) -> None:
    pair = Pair(topics=[name.replace(":", "..") for name in MANY], authorizer=Allowing(on(*MANY)))
    pair.send(deleting(*MANY[:asked]))
    assert pair.session.under_way
    frozen = Frozen.of([Freeze("f", "run", 9, freeze)] if freeze else [])
    pair.see(pair.view.successor(pair.catalog.snapshot, frozen=frozen))
    assert not pair.reset, "a freeze waits"
    pair.authorizer = Allowing([])
    pair.see(pair.view)
    assert pair.reset


def test_a_right_more_ends_nothing() -> None:
    pair = Pair(topics=[FLAT, OTHER_FLAT], authorizer=Allowing(on(NAME)))
    pair.send(deleting(NAME, OTHER))
    assert pair.session.under_way
    allow(pair, on(NAME, OTHER))
    assert not pair.reset


def test_what_is_noted_of_the_client_is_its_own() -> None:
    """A check leaves the connection unchanged."""
    pair = Pair(topics=[FLAT], authorizer=Allowing(on(NAME)))
    pair.send(deleting(NAME, OTHER))
    state = pair.session.state
    before = (state.access, state.view, state.flows, state.denied, state.source)
    assert state.without_freezes().access is state.access
    allow(pair, on(NAME))
    after = (state.flows, state.denied, state.source)
    assert after == before[2:]
