"""check --cluster --dry-run: principals that could not do with this configuration what they do
today; and the findings of check alone about listeners without a login."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gateway.acl_model import AclEntry, Operation, PatternType, Permission, Resource
from gateway.acl_model import ResourcePattern as Pattern
from gateway.acl_model import ResourceType as Type
from gateway.catalog.entities import Change, Namespace, ResourceAcls, TopicEntry
from gateway.catalog.snapshot import Snapshot
from gateway.checks import in_use
from gateway.checks.check import find_warnings
from gateway.checks.in_use import InUse, read_traffic
from gateway.checks.lock_out import LockOut, find_lock_out
from gateway.commands.backend import Backend
from gateway.config.errors import key_text
from gateway.config.models import Config
from gateway.names import LogicalName
from gateway.traffic.record import FIELDS
from protocol.messages import element_class, make
from tests.commands.fake_backend import FakeBackend, FakeCluster
from tests.commands.running import command
from tests.config import config_samples

ANONYMOUS = "User:ANONYMOUS"
PRODUCE, FETCH, FIND_COORDINATOR = 0, 1, 10
SASL = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl": {"mechanisms": ["SCRAM-SHA-512"]},
}


# -- without the cluster --------------------------------------------------------------------------


def warned(directory: Path, authorization: dict[str, Any] | None, **listener: Any) -> list[str]:
    values = config_samples.values()
    values["listeners"][0] |= listener
    if authorization is not None:
        values["authorization"] = authorization
    config = config_samples.config(directory, **values)
    return [key_text(one.key) for one in find_warnings(config) if ANONYMOUS in one.text]


def test_authorization_beside_listeners_without_a_login(tmp_path: Path) -> None:
    lock_out = ["listeners[0].security_protocol"]
    assert warned(tmp_path, {}) == lock_out
    assert warned(tmp_path, {"super.users": ["User:admin"]}) == lock_out
    assert warned(tmp_path, None) == []
    assert warned(tmp_path, {}, **SASL) == []
    assert warned(tmp_path, {"super.users": [ANONYMOUS]}) == []
    assert warned(tmp_path, {"allow.everyone.if.no.acl.found": True}) == []


async def test_the_flag_goes_with_another(tmp_path: Path) -> None:
    said = await command("check", "--dry-run", str(config_samples.write(tmp_path)))
    assert said.status == 2
    assert "--cluster" in said.err


# -- the traffic log ------------------------------------------------------------------------------


def flow(api: int, topic: str | None, **more: Any) -> dict[str, Any]:
    """A record, with the fields that are read."""
    namespace = None if topic is None else topic.rpartition(":")[0]
    record = {
        "kind": "flow",
        "cluster": "main",
        "listener": "colon",
        "principal": ANONYMOUS,
        "client_address": "10.0.0.7",
        "api_key": api,
        "namespace": namespace,
        "logical_topic": topic,
        "requests": 3,
        "denials": {},
        **more,
    }
    assert record.keys() <= {field.name for field in FIELDS if "flow" in field.kinds}
    return record


def lines(*records: Mapping[str, Any]) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in records)


def topic(name: str) -> Resource:
    namespace, _, rest = name.rpartition(":")
    return Resource(Type.TOPIC, namespace, rest)


def used(directory: Path) -> set[tuple[str, str, Resource]]:
    found = InUse()
    read_traffic(directory, "main", found)
    return {(one.principal, one.operation.name, one.resource) for one in found.uses}


def test_what_the_traffic_log_says(tmp_path: Path) -> None:
    alice = {"principal": "User:alice", "client_address": "10.0.0.7 (peer la)"}
    old = lines(flow(FETCH, "org:eu:a", **alice), flow(FIND_COORDINATOR, None))
    (tmp_path / "gw-0-1.jsonl.gz").write_bytes(gzip.compress(old))
    new = lines(
        flow(PRODUCE, "orders"),
        flow(PRODUCE, "orders"),
        flow(PRODUCE, "elsewhere", cluster="other"),
        flow(FETCH, "denied", denials={"acl": 3}),
        {"kind": "denial", "cluster": "main"},
    )
    (tmp_path / "gw-0-2.jsonl").write_bytes(new + b'{"kind": "flo')
    (tmp_path / "notes.txt").write_text("no log")
    (tmp_path / "gw-0-0.jsonl.gz").write_bytes(b"no gzip")
    assert used(tmp_path) == {
        ("User:alice", "READ", topic("org:eu:a")),
        (ANONYMOUS, "WRITE", topic("orders")),
    }
    assert used(tmp_path / "nowhere") == set()


BAD_RECORDS: list[dict[str, Any]] = [
    {"kind": "flow"},
    {**flow(PRODUCE, "a"), "listener": ["colon"]},
    {**flow(PRODUCE, "a"), "principal": {}},
    {**flow(PRODUCE, "a"), "principal": 7},
    {**flow(PRODUCE, "a"), "namespace": ["x"]},
    {**flow(PRODUCE, "a"), "namespace": 7},
    {**flow(PRODUCE, "a"), "logical_topic": 7},
    {**flow(PRODUCE, "a"), "client_address": None},
    {**flow(PRODUCE, "a"), "denials": {"acl": "3"}},
    {**flow(PRODUCE, "a"), "requests": None},
    {**flow(PRODUCE, "a"), "api_key": [0]},
]
BAD_LINES = [
    b"[" * 100_000,
    b'{"kind": ' * 100_000,
    b"\xff\xfe",
    b"7" * 10_000,
    b"null",
    b"[]",
    *map(lines, BAD_RECORDS),
]


async def test_a_line_of_anything_is_left_out_of_the_traffic_log(tmp_path: Path) -> None:
    """Beside a good line: no line that is not a record is compared, sorted or shown."""
    plain = config(tmp_path)
    for number, line in enumerate(BAD_LINES):
        (tmp_path / "a.jsonl").write_bytes(line + b"\n" + lines(flow(PRODUCE, "orders")))
        found = await compared(plain, {})
        told = (denied(found), found.used, len(found.rows()), len([*found.warnings()]))
        assert told == ({(ANONYMOUS, "WRITE", "TOPIC orders")}, 1, 2, 1), number


def test_the_oldest_files_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_use, "MOST_BYTES", 1_000)
    for number in range(9):
        path = tmp_path / f"gw-0-{number}.jsonl"
        path.write_bytes(lines(flow(PRODUCE, f"t{number}")))
        os.utime(path, (number, number))
    found = InUse()
    read_traffic(tmp_path, "main", found)
    assert found.older
    names = [one.resource.name for one in found.uses]
    assert names == [f"t{8 - number}" for number in range(len(names))]
    assert 0 < len(names) < 9


# -- the comparison -------------------------------------------------------------------------------


class Groups(FakeCluster):
    """Brokers with groups, by name: their states, and the topics for which they have offsets."""

    held: Mapping[str, tuple[str, tuple[str, ...]]]

    def _ListGroupsRequest(self, request: Any, cls: type) -> Any:
        group = element_class(cls, "groups")
        groups = [
            make(group, {"group_id": name, "group_state": state})
            for name, (state, _) in self.held.items()
        ]
        return make(cls, {"error_code": 0, "groups": tuple(groups)})

    def _OffsetFetchRequest(self, request: Any, cls: type) -> Any:
        found = element_class(cls, "topics")
        _, topics = self.held[request.group_id]
        return make(cls, {"topics": tuple(make(found, {"name": one}) for one in topics)})


CATALOG = [
    Namespace("org"),
    TopicEntry("calls", LogicalName("org", "calls")),
]


def acl(principal: str, operation: Operation, kind: Type, name: str) -> Change:
    entry = AclEntry(principal, "*", operation, Permission.ALLOW)
    return ResourceAcls(Pattern(kind, PatternType.LITERAL, name), frozenset({entry}))


async def compared(
    config: Config, groups: Mapping[str, tuple[str, tuple[str, ...]]], *acls: Change
) -> LockOut:
    backend = FakeBackend(Snapshot().apply([*CATALOG, *acls], 5))
    cluster: Any = Groups({})
    cluster.held = groups
    catalog: Any = backend.catalog
    opened = Backend(cluster, cluster, catalog)
    found = await find_lock_out(config, opened)
    assert found is not None
    return found


def denied(found: LockOut) -> set[tuple[str, str, str]]:
    return {(one.principal, one.operation.name, str(one.resource)) for one in found.denied}


def config(directory: Path, *listeners: dict[str, Any], **authorization: Any) -> Config:
    values = config_samples.values(
        authorization=authorization, traffic_log={"directory": str(directory)}
    )
    port = values["listeners"][0]["port"]
    if listeners:
        values["listeners"] = [{"port": port, **one} for one in listeners]
    return config_samples.config(directory, **values)


async def test_everybody_is_anonymous(tmp_path: Path) -> None:
    record = flow(PRODUCE, "org:calls", principal="User:alice")
    (tmp_path / "a.jsonl").write_bytes(lines(record, flow(FETCH, "orders")))
    groups = {"app": ("Stable", ("calls", "orders")), "gone": ("Empty", ("orders",))}
    plain = config(tmp_path, **{"super.users": ["User:alice"]})
    found = await compared(plain, groups)
    assert denied(found) == {
        (ANONYMOUS, "WRITE", "TOPIC org:calls"),  # alice does not log in any more
        (ANONYMOUS, "READ", "TOPIC orders"),
        (ANONYMOUS, "READ", "TOPIC org:calls"),
        (ANONYMOUS, "READ", "GROUP app"),
    }
    assert {one.listener for one in found.denied} == {"colon", ""}
    assert (found.used, found.groups) == (2, 1)
    texts = [one.text for one in found.warnings()]
    assert len(texts) == 2
    assert any("WRITE TOPIC org:calls" in one for one in texts)
    allowed = [
        acl(ANONYMOUS, Operation.ALL, Type.TOPIC, "*"),
        acl("User:*", Operation.READ, Type.GROUP, "app"),
    ]
    found = await compared(plain, groups, *allowed)
    assert denied(found) == set()
    assert found.rows()[0][1].startswith("nobody, by 2 uses in the 1 file")


async def test_with_a_login(tmp_path: Path) -> None:
    """alice logs in, and bob did not have to until now, so he may be any principal that an ACL
    names."""
    alice = {"listener": "users", "principal": "User:alice"}
    records = [
        flow(PRODUCE, "orders", **alice),
        flow(PRODUCE, "org:calls", **alice),
        flow(FETCH, "bills", listener="users"),
        flow(FETCH, "mails", listener="users"),
    ]
    (tmp_path / "a.jsonl").write_bytes(lines(*records))
    secured = config(tmp_path, {"name": "users", **SASL})
    acls = [
        acl("User:alice", Operation.WRITE, Type.TOPIC, "orders"),
        acl("User:bob", Operation.READ, Type.TOPIC, "bills"),
        acl("User:bob", Operation.READ, Type.GROUP, "app"),
    ]
    groups = {"app": ("Stable", ("bills",)), "both": ("Stable", ("bills", "org..x"))}
    found = await compared(secured, groups, *acls)
    assert denied(found) == {
        ("User:alice", "WRITE", "TOPIC org:calls"),
        ("any principal", "READ", "TOPIC mails"),
        ("any principal", "READ", "GROUP both"),
        ("any principal", "READ", "TOPIC org:x"),
    }
    principals = {one["name"]: one["principal"] for one in found.as_json()["denied"]}  # type: ignore[attr-defined]
    assert principals["mails"] is None


async def test_without_a_traffic_log_that_is_said(tmp_path: Path) -> None:
    found = await compared(config(tmp_path), {})
    (warning,) = found.warnings()
    assert key_text(warning.key) == "traffic_log"
    assert denied(found) == set()


async def test_without_authorization_there_is_nothing_to_compare(tmp_path: Path) -> None:
    plain = config_samples.config(tmp_path)
    opened: Any = None
    assert await find_lock_out(plain, opened) is None
