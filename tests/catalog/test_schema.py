"""gateway.catalog.schema.table: entities as JSON objects, and the values that are rejected."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from gateway.catalog.entities import Entity, ScramCredential, key_of
from gateway.catalog.schema.table import KINDS, kind_of
from tests.catalog.strategies import entities


@given(entities)
def test_what_is_written_is_read(entity: Entity) -> None:
    kind, identity = key_of(entity)
    fields = json.loads(json.dumps(kind_of(entity).to_record(entity)))
    assert KINDS[kind].of_record(identity, fields) == entity


TOPIC = {"namespace": "a", "topic": "x"}
LINK = {"flat": "x", "topic_id": "00" * 16}
READ = ["ALLOW", "READ", "User:a", "*"]
SCRAM = {"iterations": 4096, "salt": "01", "stored_key": "02", "server_key": "03"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("namespace/a", []),
        ("namespace/a", {"quota": 1}),
        ("namespace/a", {"configs": {"a": 1}}),
        ("namespace/a", {"configs": ["a"]}),
        ("namespace/a", {"deleting": "soon"}),
        ("namespace/a", {"apply": "retention.ms"}),
        ("namespace/a", {"apply_since": True}),
        ("topic/x", {"namespace": "a"}),
        ("topic/x", {**TOPIC, "topic_id": 5}),
        ("topic/x", {**TOPIC, "topic_id": "xyz"}),
        ("topic/x", {**TOPIC, "apply": 1}),
        ("topic/x", {**TOPIC, "aliases": [TOPIC]}),
        ("topic/x", {**TOPIC, "aliases": [{**TOPIC, "until": 1, "more": 2}]}),
        ("link/a:x", {"flat": "x"}),
        ("link/a:x", {"topic_id": "00" * 16}),
        ("link/a:x", {**LINK, "topic_id": "xyz"}),
        ("link/a:x", {**LINK, "gone": True}),
        ("link/a:x", {**LINK, "namespace": "a"}),
        ("link/a:", LINK),
        ("link/", LINK),
        ("acl/TOPIC:LITERAL:x", {"entries": []}),
        ("acl/TOPIC:LITERAL:x", {"entries": [READ], "more": 1}),
        ("acl/TOPIC:LITERAL:x", {"entries": [READ[:3]]}),
        ("acl/TOPIC:LITERAL:x", {"entries": [["MAYBE", *READ[1:]]]}),
        ("acl/TOPIC:LITERAL:x", {"entries": [["ANY", *READ[1:]]]}),
        ("acl/TOPIC:LITERAL:x", {"entries": [["ALLOW", "ANY", *READ[2:]]]}),
        ("acl/TOPIC:LITERAL:x", {"entries": [["ALLOW", "EAT", *READ[2:]]]}),
        ("acl/TOPIC:LITERAL:", {"entries": [READ]}),
        ("acl/TOPIC:MATCH:x", {"entries": [READ]}),
        ("acl/TOPIC:x", {"entries": [READ]}),
        ("acl/SOMETHING:LITERAL:x", {"entries": [READ]}),
        ("scram/alice", SCRAM),
        ("scram/SCRAM-SHA-256/", SCRAM),
        ("scram/SCRAM-SHA-256/alice", {**SCRAM, "salt": "xyz"}),
        ("scram/SCRAM-SHA-256/alice", {**SCRAM, "iterations": "many"}),
        ("scram/SCRAM-SHA-256/alice", {"iterations": 4096}),
        ("home/User:a", {"namespace": 1}),
        ("home/User:a", {}),
        ("client_metrics/a", {}),
        ("client_metrics/a", {"configs": {"metrics": 1}}),
        ("client_metrics/a", {"configs": {"metrics": "*"}, "more": 1}),
        ("gateway/a", {"format": 1.5, "software": ""}),
        ("format", {"level": None}),
        ("format/x", {"level": 1}),
        ("seeds", {"namespaces": {"a": 1}}),
        ("seeds/x", {"namespaces": []}),
    ],
)
def test_what_makes_no_sense_is_rejected(key: str, value: dict[str, Any]) -> None:
    kind, _, identity = key.partition("/")
    with pytest.raises((ValueError, TypeError, KeyError, AttributeError)):
        KINDS[kind].of_record(identity, value)


def test_a_credential_does_not_show_its_keys() -> None:
    shown = repr(ScramCredential("alice", "SCRAM-SHA-256", 4096, b"salty", b"stored", b"server"))
    assert "alice" in shown
    assert not any(secret in shown for secret in ("salty", "stored", "server"))
