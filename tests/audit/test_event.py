"""gateway.audit.event: events are CloudEvents, and agree with the tables."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.audit.catalog_changes import changes_of
from gateway.audit.event import (
    KIND_OF,
    AuditEvent,
    AuthenticationFailure,
    Happening,
    Revocation,
    cloud_event,
    encode,
    principal_of,
)
from gateway.audit.fields import ATTRIBUTES, FIELDS, MAX_CLAIMED, TYPES, Field, Kind
from gateway.catalog.entities import Namespace
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.source import Actor, committed
from gateway.flows import Denial
from gateway.peers import address_by_peer
from gateway.places import Place
from tests.audit import audit_samples as samples
from tests.audit.cloud_events import checked
from tests.catalog import strategies
from tests.gateway.flow_samples import denial, source

SAMPLES: list[tuple[Kind, Happening]] = [
    ("denied", samples.acl_denial()),
    ("denied", denial()),
    ("failed", samples.failure()),
    ("failed", samples.failure(None)),
    ("revoked", samples.revocation()),
    ("changed", samples.change(None, Namespace("org"))),
    ("changed", samples.change(samples.acls("User:a"), None)),
]


def made(what: Happening) -> dict[str, Any]:
    return checked(encode(samples.SOURCE, samples.event(what)))


def fits(value: object, field: Field) -> bool:
    """Whether a value is of a type of the table."""
    if value is None:
        return field.nullable
    match field.type:
        case "string":
            return isinstance(value, str)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "object":
            return isinstance(value, dict)


@pytest.mark.parametrize(("kind", "what"), SAMPLES)
def test_events_have_the_fields_of_the_tables_in_their_order(kind: Kind, what: Happening) -> None:
    event = made(what)
    assert list(event) == [field.name for field in ATTRIBUTES]
    fields = {field.name: field for field in FIELDS if kind in field.kinds}
    assert list(event["data"]) == list(fields)
    assert all(fits(event[field.name], field) for field in ATTRIBUTES)
    for name, value in event["data"].items():
        assert fits(value, fields[name]), name
    assert event["type"] == TYPES[kind]
    assert KIND_OF[type(what)] == kind


def test_a_denial_by_acls() -> None:
    assert made(samples.acl_denial()) == {
        "specversion": "1.0",
        "id": "5f0c9a61d2b7e384-1",
        "source": "/kafka-gateway/gw-1/w0",
        "type": "kafka.gateway.access.denied",
        "time": "2025-11-21T18:42:05.250000Z",
        "datacontenttype": "application/json",
        "subject": "TOPIC org:orders",
        "data": {
            "schema_version": 1,
            "principal": "User:alice",
            "address": "10.0.0.1:50000",
            "listener": "colon",
            "client_id": "app",
            "software_name": "librdkafka",
            "software_version": "2.6",
            "cluster": "main",
            "api": "Produce",
            "api_version": 9,
            "operation": "WRITE",
            "resource_type": "TOPIC",
            "resource": "org:orders",
            "path": None,
            "spelled": "orders",
            "rule": "acl",
            "because": "DENY WRITE for User:alice on TOPIC:LITERAL:org:orders",
            "error_code": 29,
            "error": "TOPIC_AUTHORIZATION_FAILED",
            "message": "User:alice is not allowed to WRITE topic 'org:orders'.",
        },
    }


def test_a_denial_without_acls_has_the_name_that_was_spelled() -> None:
    event = made(denial(resource="nope:x"))
    assert event["subject"] == "nope:x"
    data = event["data"]
    assert (data["resource"], data["spelled"]) == ("nope:x", "nope:x")
    assert (data["resource_type"], data["operation"], data["because"]) == (None, None, None)
    assert data["rule"] == "namespace"


def test_a_denial_of_nothing_with_a_name_still_has_a_subject() -> None:
    assert made(denial(resource=""))["subject"] == "Metadata"


def test_an_authentication_failure() -> None:
    event = made(samples.failure())
    assert event["subject"] == "clients"
    assert event["data"] == {
        "schema_version": 1,
        "principal": "User:ANONYMOUS",
        "address": "10.0.0.1:50000",
        "listener": "clients",
        "mechanism": "SCRAM-SHA-512",
        "claimed_user": "alice",
        "reason": "The credentials are not right.",
    }


def test_a_name_without_end_is_cut() -> None:
    assert made(samples.failure("x" * 100_000))["data"]["claimed_user"] == "x" * MAX_CLAIMED


def test_a_revoked_connection() -> None:
    event = made(samples.revocation())
    assert (event["type"], event["subject"]) == ("kafka.gateway.connection.revoked", "User:alice")
    assert event["data"]["reason"] == "its token has expired"
    assert event["data"]["client_id"] == "app"


def test_a_change() -> None:
    event = made(samples.change(samples.acls("User:a"), samples.acls("User:a", "User:b")))
    assert event["subject"] == "acl TOPIC:PREFIXED:org:apache:"
    assert event["data"] == {
        "schema_version": 1,
        "principal": "User:alice",
        "address": "10.0.0.1:50000",
        "listener": "colon",
        "client_id": "admin-1",
        "cluster": "",
        "api": "CreateAcls",
        "resource_type": "acl",
        "resource": "TOPIC:PREFIXED:org:apache:",
        "path": None,
        "action": "altered",
        "before": {"entries": []},
        "after": {
            "entries": [
                {"permission": "ALLOW", "operation": "READ", "principal": "User:b", "host": "*"}
            ]
        },
        "catalog_version": 42,
        "outcome": "committed",
    }


def test_events_of_a_tree_have_the_cluster_and_the_absolute_path() -> None:
    la = Place("la", "la:tracking")
    data = made(samples.acl_denial(source(place=la)))["data"]
    assert (data["cluster"], data["path"]) == ("la", ":la:tracking:org:orders")
    assert made(Revocation(source(place=la), "its token has expired"))["data"]["cluster"] == "la"
    change = replace(samples.change(None, Namespace("org")), place=la)
    data = made(change)["data"]
    assert (data["resource"], data["cluster"]) == ("org:", "la")
    assert data["path"] == ":la:tracking:org:"


def test_one_principals_events_have_one_key() -> None:
    keys = [principal_of(samples.event(what)) for _, what in SAMPLES]
    alice, nobody = "User:alice", "User:ANONYMOUS"
    assert keys == [alice, nobody, nobody, nobody, alice, alice, alice]


@pytest.mark.parametrize("time", [0.0, 1_763_750_525.9999999, 253_402_300_799.0])
def test_times(time: float) -> None:
    event = checked(encode(samples.SOURCE, samples.event(samples.failure(), time=time)))
    assert event["time"].endswith("Z")
    assert len(event["time"]) == len("2025-11-21T18:42:05.250000Z")


texts = st.text(max_size=20)
clients = st.builds(source, principal=texts, client_id=texts, software_name=texts, listener=texts)
denials = st.builds(
    Denial,
    clients,
    st.integers(-1, 100),
    st.integers(0, 20),
    texts,
    st.integers(-1, 120),
    *(texts for _ in range(5)),
)
failures = st.builds(
    AuthenticationFailure, texts.filter(bool), texts, texts, st.none() | texts, texts, texts
)
revocations = st.builds(
    Revocation, st.builds(source, principal=texts.filter(bool), client_id=texts), texts
)


@given(denials | failures | revocations, st.floats(0, 4e9))
def test_whatever_clients_send_it_is_an_event_and_reads_back(what: Happening, time: float) -> None:
    event = AuditEvent("1", time, what)
    text = encode(samples.SOURCE, event)
    assert text.isascii()
    assert b"\n" not in text
    read = checked(text)
    whole = cloud_event(samples.SOURCE, event)
    assert read == json.loads(json.dumps(whole))
    assert read["data"]["principal"] == principal_of(event)


@given(strategies.changes, st.lists(strategies.changes, max_size=3))
def test_whatever_the_catalog_holds_its_changes_are_events(change: Any, before: list[Any]) -> None:
    state = Snapshot().apply(before, len(before))
    for one in committed(samples.ACTOR, state, [change]):
        for part in changes_of(one):
            read = made(part)
            assert read["data"]["catalog_version"] == len(before) + 1
            assert read["data"]["action"] in {"created", "altered", "deleted"}


def test_a_request_that_came_by_another_gateway_tells_the_peer() -> None:
    by_peer = address_by_peer("192.0.2.7", "la-gateway")
    denied = samples.acl_denial(source(principal="User:alice", client_address=by_peer))
    actor = Actor("User:alice", by_peer, "of-la", "admin-1", "CreateTopics")
    (commit,) = committed(actor, Snapshot(), [Namespace("org")])
    (changed,) = changes_of(commit)
    for what in (denied, changed):
        data = made(what)["data"]
        shown = (data["principal"], data["address"])
        assert shown == ("User:alice", "192.0.2.7 (peer la-gateway)")
