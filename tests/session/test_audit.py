"""Denials on their way to the audit log: an event for each rejected item, by whatever it was
rejected."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.audit.audit import Audit
from gateway.catalog.entities import CatalogFormat
from gateway.exchanges import worker_state
from protocol import messages
from protocol.messages import element_class, make
from tests.audit.test_audit import MemorySink
from tests.session import changing, fetching
from tests.session.allowing import Allowing
from tests.session.pair import Pair, request_frame
from tests.session.test_changes import create

APPEND = 2
FLAT, NAME = "team-a..orders", "team-a:orders"


def audited(pair: Pair) -> MemorySink:
    """The events that a pair's worker writes to the audit log from now on."""
    sink = MemorySink()
    pair.worker.audit = Audit([sink])
    return sink


def metadata(version: int, names: list[str]) -> Any:
    cls = messages.message_class("MetadataRequest", version)
    topics = tuple(make(element_class(cls, "topics"), {"name": name}) for name in names)
    return messages.build(cls, topics=topics)


def test_each_item_of_a_request_is_an_event() -> None:
    pair = Pair(topics=[FLAT])
    sink = audited(pair)
    names = [f"nowhere:{number}" for number in range(20)]
    pair.ask("Metadata", 9, metadata(9, [*names, NAME]))
    assert [data["resource"] for data in sink.data] == names
    (first, *_) = sink.data
    assert (first["rule"], first["api"], first["api_version"]) == ("namespace", "Metadata", 9)
    assert (first["client_id"], first["address"]) == ("test-client", "127.0.0.1:5000")


@pytest.mark.parametrize("version", [12, 13])
def test_what_acls_reject_is_told_in_logical_names(version: int) -> None:
    pair = Pair(home="team-a", topics=[FLAT], authorizer=Allowing([f"DESCRIBE TOPIC {NAME}"]))
    sink = audited(pair)
    asked = {1: [0]} if version > 12 else {"orders": [0]}
    pair.ask("Fetch", version, fetching.request(version, asked))
    (data,) = sink.data
    assert (data["operation"], data["resource_type"], data["resource"]) == ("READ", "TOPIC", NAME)
    assert (data["rule"], data["because"]) == ("acl", "the list")
    assert data["error"] == "TOPIC_AUTHORIZATION_FAILED"
    assert FLAT not in str(data)
    if version == 12:
        assert data["spelled"] == "orders"


def test_asking_again_is_an_event_again() -> None:
    pair = Pair(topics=[FLAT], authorizer=Allowing([]))
    sink = audited(pair)
    for number in range(5):
        pair.ask("Metadata", 9, metadata(9, [NAME]), number)
        pair.let_answer()
    assert len(sink.events) == 5


def test_what_the_traffic_log_has_no_room_for_is_an_event_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker_state, "MAX_DENIALS", 3)
    pair = Pair(topics=[FLAT])
    sink = audited(pair)
    for number in range(3):
        pair.ask("Metadata", 9, metadata(9, ["nowhere:a", "nowhere:b"]), number)
        pair.let_answer()
    kept, dropped = len(pair.worker.denials), pair.worker.denials_dropped
    assert kept + dropped == len(sink.events) == 6


def test_what_a_change_rejects_is_an_event() -> None:
    pair = Pair()
    sink = audited(pair)
    pair.send(request_frame("CreateTopics", 7, create("nowhere:a", "team-a:c")))
    assert [(data["resource"], data["api"]) for data in sink.data] == [
        ("nowhere:a", "CreateTopics")
    ]


async def test_a_link_by_a_name_that_is_taken_is_an_event() -> None:
    pair = Pair(topics=[FLAT, "team-b..x"])
    pair.log.append([CatalogFormat(3)])
    pair.catalog_changed()
    sink = audited(pair)
    code, text = await changing.alter(pair, NAME, APPEND, gateway__link="team-b:x")
    assert (code, text) == (36, "Topic 'team-b:x' already exists.")
    (data,) = sink.data
    assert (data["api"], data["spelled"]) == ("IncrementalAlterConfigs", NAME)
    assert (data["error_code"], data["message"]) == (code, text)


def test_denials_by_acls_are_counted_by_listener_operation_and_type() -> None:
    pair = Pair(topics=[FLAT], authorizer=Allowing([]))
    for number in range(3):
        pair.ask("Metadata", 9, metadata(9, [NAME]), number)
        pair.let_answer()
    pair.ask("Metadata", 9, metadata(9, [":"]), 4)
    rows = pair.worker.take_authorization_denials()
    assert rows == [("authorization_denials", ("test", "DESCRIBE", "TOPIC"), 3)]
    assert pair.worker.take_authorization_denials() == []
