"""gateway.traffic.record: records agree with the table."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gateway.flows import LATENCY_BUCKETS, LATENCY_STEPS, Flow, NeededAcl, PolicyEvent
from gateway.mounts import Mount, Mounts
from gateway.places import Place
from gateway.traffic.record import (
    FIELDS,
    SCHEMA_VERSION,
    FieldType,
    Kind,
    Origin,
    Window,
    markdown_table,
)
from gateway.traffic.rows import FlowWindow, acl_record, denial_record, flow_record, policy_record
from tests.gateway.flow_samples import buckets, denial, flow, source

ORIGIN = Origin("gw", 2)
ID = "gw-2-1-1"
WINDOW = Window(1_700_000_000_000, 10_000)

MOUNTS = Mounts([Mount("la:tracking", 1, "la"), Mount("la:tracking:deep", 2, "deep")])
LA = Place("la", "la:tracking", MOUNTS)


def record(*flows: Flow) -> dict[str, Any]:
    window = FlowWindow()
    window.add(flows)
    ((key, sums),) = window.sums.items()
    return flow_record(ORIGIN, ID, WINDOW, key, sums)


def busy_flow(**more: Any) -> Flow:
    """A flow in which every count differs."""
    counts = {
        "requests": 11,
        "led": 10,
        "partitions": 12,
        "bytes_in": 13,
        "bytes_out": 14,
        "records": 15,
        "batches": 16,
        "records_out": 17,
        "batches_out": 18,
        "acks0": 1,
        "acks1": 2,
        "acks_all": 3,
        "idempotent": 4,
        "transactional": 5,
        "errors": {3: 6, 999: 1, 998: 1},
        "denials": {"namespace": 7},
        "weak": {"acks1_upgraded": 2},
        "gateway_us": buckets(b5=10),
        "broker_us": buckets(b12=10),
    }
    return flow(**{**counts, **more})


def fits(value: object, kind: FieldType, nullable: bool) -> bool:
    """Whether a value is of a type of the table."""
    match kind, value:
        case _, None:
            return nullable
        case "string", str():
            return True
        case (("integer" | "long"), int()):
            limit = 31 if kind == "integer" else 63
            return not isinstance(value, bool) and -(1 << limit) <= value < 1 << limit
        case "array<long>", list():
            return all(fits(item, "long", nullable=False) for item in value)
        case "map<string,long>", dict():
            return all(
                isinstance(key, str) and fits(item, "long", nullable=False)
                for key, item in value.items()
            )
    return False


EVENT = PolicyEvent(
    "User:alice",
    "org",
    "org:x",
    "partitions.max",
    "policies.namespaces.org",
    "enforce",
    "near",
    "Near.",
    10,
    12,
    Place("main"),
)

RECORDS: list[tuple[Kind, dict[str, Any]]] = [
    ("flow", record(busy_flow())),
    ("flow", record(flow(topic=""))),
    ("flow", record(flow(topic="orders"))),
    ("flow", record(flow(source(place=LA)))),
    ("denial", denial_record(ORIGIN, ID, 1_700_000_000_123, denial())),
    ("policy", policy_record(ORIGIN, ID, 1_700_000_000_123, EVENT)),
    (
        "policy",
        policy_record(ORIGIN, ID, 1_700_000_000_123, replace(EVENT, value=None, limit=None)),
    ),
    (
        "acl",
        acl_record(ORIGIN, ID, 1_700_000_000_123, NeededAcl("User:alice", "ALLOW READ for ...")),
    ),
]


@pytest.mark.parametrize(("kind", "made"), RECORDS)
def test_records_have_the_fields_of_the_table_in_its_order(
    kind: Kind, made: dict[str, Any]
) -> None:
    fields = {field.name: field for field in FIELDS if kind in field.kinds}
    assert list(made) == list(fields)
    assert made["kind"] == kind
    for name, value in json.loads(json.dumps(made)).items():
        assert fits(value, fields[name].type, fields[name].nullable), name


def test_a_flow_record() -> None:
    assert record(busy_flow()) == {
        "kind": "flow",
        "schema_version": 2,
        "id": ID,
        "gateway_id": "gw",
        "worker_id": 2,
        "cluster": "main",
        "mount": None,
        "time_ms": 1_700_000_000_000,
        "window_ms": 10_000,
        "listener": "colon",
        "principal": "User:ANONYMOUS",
        "client_id": "app",
        "software_name": "librdkafka",
        "software_version": "2.6",
        "client_address": "10.0.0.1",
        "connections": 1,
        "api": "Produce",
        "api_key": 0,
        "api_version": 9,
        "namespace": "team-a",
        "logical_topic": "team-a:orders",
        "flat_topic": "team-a..orders",
        "path": None,
        "requests": 11,
        "led_requests": 10,
        "partitions": 12,
        "bytes_in": 13,
        "bytes_out": 14,
        "records": 15,
        "batches": 16,
        "records_out": 17,
        "batches_out": 18,
        "acks_0": 1,
        "acks_1": 2,
        "acks_all": 3,
        "idempotent": 4,
        "transactional": 5,
        "weak_producers": {"acks1_upgraded": 2},
        "errors": {"UNKNOWN_TOPIC_OR_PARTITION": 6, "999": 1, "998": 1},
        "denials": {"namespace": 7},
        "gateway_us_quarters": {"5": 10},
        "broker_us_quarters": {"12": 10},
    }


def test_no_topic_is_null_and_the_default_namespace_is_empty() -> None:
    none = record(flow(topic=""))
    assert (none["namespace"], none["logical_topic"], none["flat_topic"]) == (None, None, None)
    default = record(flow(topic="orders"))
    assert (default["namespace"], default["logical_topic"]) == ("", "orders")


def test_a_denial_record() -> None:
    made = denial_record(
        ORIGIN, ID, 123, denial(source(client_address="[::1]:5"), resource="nope:x")
    )
    assert made == {
        "kind": "denial",
        "schema_version": 2,
        "id": ID,
        "gateway_id": "gw",
        "worker_id": 2,
        "cluster": "main",
        "mount": None,
        "time_ms": 123,
        "listener": "colon",
        "principal": "User:ANONYMOUS",
        "client_id": "app",
        "software_name": "librdkafka",
        "software_version": "2.6",
        "client_address": "[::1]:5",
        "api": "Metadata",
        "api_key": 3,
        "api_version": 12,
        "namespace": None,
        "path": None,
        "rule": "namespace",
        "error_code": 3,
        "error": "UNKNOWN_TOPIC_OR_PARTITION",
        "resource": "nope:x",
        "message": "it does not exist",
        "operation": None,
        "named": None,
        "because": None,
    }


def test_a_denial_by_acls_says_by_which() -> None:
    by_acl = replace(
        denial(), operation="WRITE", named="TOPIC org:x", because="no ACL", namespace="org"
    )
    made = denial_record(ORIGIN, ID, 123, by_acl)
    assert (made["operation"], made["named"], made["because"]) == ("WRITE", "TOPIC org:x", "no ACL")
    assert made["namespace"] == "org"


def test_a_policy_record() -> None:
    assert policy_record(ORIGIN, ID, 123, EVENT) == {
        "kind": "policy",
        "schema_version": 2,
        "id": ID,
        "gateway_id": "gw",
        "worker_id": 2,
        "cluster": "main",
        "mount": None,
        "time_ms": 123,
        "principal": "User:alice",
        "namespace": "org",
        "path": None,
        "rule": "partitions.max",
        "message": "Near.",
        "topic": "org:x",
        "source": "policies.namespaces.org",
        "mode": "enforce",
        "outcome": "near",
        "value": 10,
        "limit": 12,
    }


def test_an_acl_record() -> None:
    needed = NeededAcl("User:alice", "ALLOW READ for User:alice on TOPIC:LITERAL:x", LA)
    made = acl_record(ORIGIN, ID, 123, needed)
    assert (made["kind"], made["time_ms"], made["principal"]) == ("acl", 123, "User:alice")
    assert made["acl"] == "ALLOW READ for User:alice on TOPIC:LITERAL:x"
    assert (made["cluster"], made["mount"]) == ("la", "la:tracking")


def test_a_histogram_has_the_buckets_that_count_anything_in_order() -> None:
    counted = busy_flow()
    counted.broker_us = buckets(b97=1, b8=2)
    made = record(counted)["broker_us_quarters"]
    assert list(made.items()) == [("8", 2), ("97", 1)]


def test_the_bounds_in_the_documentation_are_those_that_are_counted_by() -> None:
    (field,) = (field for field in FIELDS if field.name == "gateway_us_quarters")
    assert (
        f"to {LATENCY_BUCKETS - 1} (2^{(LATENCY_BUCKETS - 2) // LATENCY_STEPS} us" in field.meaning
    )
    assert f"2^(i/{LATENCY_STEPS})" in field.meaning


def test_the_documentation_is_the_table() -> None:
    text = (Path(__file__).parents[2] / "docs" / "traffic-log.md").read_text()
    assert markdown_table() in text
    assert f"Schema version {SCHEMA_VERSION}." in text


def test_every_field_is_named_once_and_explained() -> None:
    names = [field.name for field in FIELDS]
    assert len(set(names)) == len(names)
    assert all(field.meaning and field.kinds for field in FIELDS)


@pytest.mark.parametrize(
    ("topic", "path"),
    [
        ("search:clicks", ":la:tracking:search:clicks"),
        ("clicks", ":la:tracking:clicks"),
        ("deep", ":la:tracking:deep"),
        ("deep:clicks", None),  # hidden by the mount there: this absolute name is another topic's
        ("deep:er:clicks", None),
        ("deeper:clicks", ":la:tracking:deeper:clicks"),
        ("", None),
        ("(other)", None),
    ],
)
def test_a_topic_in_a_tree_has_its_absolute_path(topic: str, path: str | None) -> None:
    made = record(flow(source(place=LA), topic=topic))
    assert (made["cluster"], made["mount"], made["path"]) == ("la", "la:tracking", path)
    assert made["logical_topic"] == (topic or None)


def test_a_cluster_at_the_root_has_paths_too() -> None:
    mounts = Mounts([Mount("", 1, "root"), Mount("la", 2, "la")])
    root = source(place=Place("root", "", mounts))
    assert record(flow(root, topic="orders"))["path"] == ":orders"
    assert record(flow(root, topic="org:orders"))["path"] == ":org:orders"
    assert record(flow(root, topic="la:orders"))["path"] is None


def test_topics_of_one_name_in_two_clusters_are_two_records() -> None:
    window = FlowWindow()
    ny = Place("ny", "ny:tracking", MOUNTS)
    window.add([flow(source(place=LA), led=1), flow(source(place=ny), led=2)])
    assert [(key.place.cluster, sums.led) for key, sums in window.sums.items()] == [
        ("la", 1),
        ("ny", 2),
    ]


def test_events_in_a_tree_have_their_paths() -> None:
    by_acl = replace(denial(source(place=LA)), named="TOPIC search:x", operation="READ")
    assert denial_record(ORIGIN, ID, 123, by_acl)["path"] == ":la:tracking:search:x"
    of_group = replace(by_acl, named="GROUP search:g")
    assert denial_record(ORIGIN, ID, 123, of_group)["path"] is None
    for topic, path in (("org:x", ":la:tracking:org:x"), ("org:", ":la:tracking:org:")):
        made = policy_record(ORIGIN, ID, 123, replace(EVENT, topic=topic, place=LA))
        assert (made["cluster"], made["path"]) == ("la", path)
