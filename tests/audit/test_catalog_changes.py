"""gateway.audit.catalog_changes: changes in logical names, without secrets, however large."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.audit.catalog_changes import MAX_LISTED, State, changes_of
from gateway.audit.event import encode
from gateway.catalog.entities import (
    Alias,
    CatalogFormat,
    ClientMetrics,
    Entity,
    Gateway,
    Namespace,
    PrincipalHome,
    ScramCredential,
    Seeds,
    Signing,
    TopicEntry,
)
from gateway.catalog.schema.table import kind_of
from gateway.names import LogicalName
from tests.audit import audit_samples as samples
from tests.catalog import strategies

FLAT = "zq8-flat-name"
SECRETS = (b"salt-of-alice", b"stored-key-of", b"server-key-of")
ORDERS = LogicalName("org:apache", "orders")


def states(before: Entity | None, after: Entity | None) -> tuple[State | None, State | None]:
    one = samples.change(before, after)
    return one.before, one.after


@pytest.mark.parametrize(
    ("entity", "resource", "state"),
    [
        (
            Namespace("org:apache", {"retention.ms": "5"}, 7, ("retention.ms",), 3),
            "org:apache:",
            {
                "configs": {"retention.ms": "5"},
                "deleting": 7,
                "apply": ["retention.ms"],
                "apply_since": 3,
                "settings": {},
            },
        ),
        (
            TopicEntry(
                FLAT,
                ORDERS,
                bytes(15) + b"\x01",
                (Alias(LogicalName("", "old"), 9),),
                ("retention.ms",),
                apply=True,
                creating=True,
                since=8,
            ),
            "org:apache:orders",
            {
                "name": "org:apache:orders",
                "topic_id": "AAAAAAAAAAAAAAAAAAAAAQ",
                "aliases": [{"name": "old", "until": 9, "topic_id": None}],
                "own_configs": ["retention.ms"],
                "apply": True,
                "creating": True,
                "since": 8,
                "counted": 0,
            },
        ),
        (
            samples.acls("User:b", "User:a"),
            "TOPIC:PREFIXED:org:apache:",
            {
                "entries": [
                    {"permission": "ALLOW", "operation": "READ", "principal": who, "host": "*"}
                    for who in ("User:a", "User:b")
                ]
            },
        ),
        (
            ScramCredential("alice", "SCRAM-SHA-256", 4096, *SECRETS),
            "SCRAM-SHA-256/alice",
            {"iterations": 4096},
        ),
        (PrincipalHome("User:alice", "team-a"), "User:alice", {"namespace": "team-a"}),
        (
            ClientMetrics("team-a:lag", {"metrics": "*"}),
            "team-a:lag",
            {"configs": {"metrics": "*"}},
        ),
        (Gateway("gw-2", 1, "0.1"), "gw-2", {"format": 1, "software": "0.1"}),
        (CatalogFormat(1), "", {"level": 1}),
        (Signing("k1"), "", {"key": "k1"}),
        (Seeds(frozenset({"b", "a"})), "", {"namespaces": ["a", "b"]}),
    ],
)
def test_every_kind_made_and_removed(entity: Entity, resource: str, state: State) -> None:
    assert kind_of(entity).resource_of(entity) == resource
    created = samples.change(None, entity)
    assert (created.action, created.before, created.after) == ("created", None, state)
    deleted = samples.change(entity, None)
    assert (deleted.action, deleted.before, deleted.after) == ("deleted", state, None)
    assert (deleted.resource, deleted.version, deleted.certain) == (resource, 42, True)


def test_a_changed_password_is_told_and_not_shown() -> None:
    old = ScramCredential("alice", "SCRAM-SHA-256", 4096, *SECRETS)
    new = ScramCredential("alice", "SCRAM-SHA-256", 8192, b"other", b"keys", b"now")
    assert samples.change(old, new).action == "altered"
    assert states(old, new) == ({"iterations": 4096}, {"iterations": 8192})


def test_a_moved_topic_shows_both_names() -> None:
    old, new = TopicEntry(FLAT, ORDERS), TopicEntry(FLAT, LogicalName("org", "orders"))
    one = samples.change(old, new)
    assert one.resource == "org:orders"
    assert one.before is not None
    assert one.before["name"] == "org:apache:orders"


def test_of_acls_and_seeds_only_what_differs() -> None:
    before, after = states(samples.acls("User:a", "User:b"), samples.acls("User:b", "User:c"))
    assert before is not None
    assert after is not None
    assert [entry["principal"] for entry in before["entries"]] == ["User:a"]
    assert [entry["principal"] for entry in after["entries"]] == ["User:c"]
    gone, more = states(Seeds(frozenset("ab")), Seeds(frozenset("bc")))
    assert (gone, more) == ({"namespaces": ["a"]}, {"namespaces": ["c"]})


@pytest.mark.parametrize("removed", [0, 1, MAX_LISTED, MAX_LISTED + 1])
@pytest.mark.parametrize("added", [1, MAX_LISTED, 2 * MAX_LISTED + 1])
def test_a_large_change_comes_in_parts_and_loses_nothing(removed: int, added: int) -> None:
    old = samples.acls("User:stays", *(f"User:old-{n}" for n in range(removed)))
    new = samples.acls("User:stays", *(f"User:new-{n}" for n in range(added)))
    parts = list(changes_of(samples.committed(old, new)))
    assert len(parts) == -(-max(removed, added) // MAX_LISTED)
    listed: list[list[str]] = [[], []]
    for part in parts:
        assert part.action == "altered"
        for names, state in zip(listed, (part.before, part.after), strict=True):
            assert state is not None
            assert len(state["entries"]) <= MAX_LISTED
            names += [entry["principal"] for entry in state["entries"]]
    assert sorted(listed[0]) == sorted(f"User:old-{n}" for n in range(removed))
    assert sorted(listed[1]) == sorted(f"User:new-{n}" for n in range(added))


def test_seeds_of_nothing_are_an_event_too() -> None:
    assert states(None, Seeds(frozenset())) == (None, {"namespaces": []})


def test_what_is_not_certain_says_so() -> None:
    (one,) = changes_of(samples.committed(None, Namespace("org"), certain=False))
    assert not one.certain
    assert b'"outcome":"unknown"' in encode(samples.SOURCE, samples.event(one))


def text_of(before: Entity | None, after: Entity | None) -> str:
    parts = changes_of(samples.committed(before, after))
    return "".join(encode(samples.SOURCE, samples.event(part)).decode() for part in parts)


@given(strategies.names, st.lists(strategies.aliases, max_size=2).map(tuple), strategies.entries)
def test_no_flat_name_leaves(
    name: LogicalName, aliases: tuple[Alias, ...], other: TopicEntry
) -> None:
    entry = TopicEntry(FLAT, name, other.topic_id, aliases, other.own_configs)
    for before, after in ((None, entry), (entry, None), (entry, TopicEntry(FLAT, other.name))):
        if before != after:
            assert FLAT not in text_of(before, after)


secret = st.binary(min_size=8, max_size=32)


@given(strategies.credentials, strategies.credentials, secret, secret, secret)
def test_no_secret_leaves(
    old: ScramCredential, new: ScramCredential, salt: bytes, stored: bytes, server: bytes
) -> None:
    made = ScramCredential(old.user, old.mechanism, old.iterations, salt, stored, server)
    renewed = ScramCredential(old.user, old.mechanism, new.iterations, server, salt, stored)
    text = text_of(None, made) + text_of(made, renewed) + text_of(renewed, None)
    named = json.dumps(old.user)
    for value in (salt, stored, server):
        for shown in (value.hex(), repr(value), _base64(value)):
            assert shown not in text.replace(named, "")


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode().rstrip("=")


def test_every_field_of_an_entity_is_told_or_left_out_on_purpose() -> None:
    """If a field is added to an entity, its place has to be decided here."""
    left_out: dict[str, set[str]] = {
        "Namespace": {"path"},
        "TopicEntry": {"flat"},
        "ScramCredential": {"user", "mechanism", "salt", "stored_key", "server_key"},
        "PrincipalHome": {"principal"},
        "Gateway": {"gateway_id"},
        "ClientMetrics": {"name"},
        "CatalogFormat": set(),
        "Signing": {"whole"},
    }
    entities: list[Any] = [
        Namespace("a"),
        TopicEntry("a", ORDERS),
        ScramCredential("a", "m", 1, b"", b"", b""),
        PrincipalHome("User:a", "a"),
        Gateway("a", 1, "0"),
        ClientMetrics("a", {}),
        CatalogFormat(1),
        Signing("k1"),
    ]
    for entity in entities:
        state = kind_of(entity).to_audit(entity)
        assert state is not None
        name = type(entity).__name__
        assert set(entity.__slots__) == set(state) | left_out[name], name
