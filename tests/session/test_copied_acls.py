"""MirrorMaker does not copy ACLs of namespaces, because its admin clients see none, and create
none."""

from __future__ import annotations

import pytest

from gateway.apis.security.copied_acls import copies_acls
from tests.changes.acl_requests import filtering, held
from tests.session.pair import Pair, request_frame
from tests.session.test_acls import CLUSTER, READ_X, asking, creating, pair

SOURCE = b"A->B|MirrorSourceConnector|replication-source-admin"
TARGET = b"mine|A->B|MirrorSourceConnector|replication-target-admin"
ADMIN = f"ALLOW ALL User:alice {CLUSTER}"
GATE = "ALLOW READ User:bob TOPIC:LITERAL:team-a:"
PREFIX = "ALLOW READ User:bob TOPIC:PREFIXED:team-a:"
GROUP = "ALLOW READ User:bob GROUP:LITERAL:team-a:app"


@pytest.mark.parametrize(
    ("client_id", "copies"),
    [(SOURCE, True), (TARGET, True), (b"A->B|MirrorCheckpointConnector", False), (None, False)],
)
def test_the_clients(client_id: bytes | None, copies: bool) -> None:
    assert copies_acls(client_id) is copies


def described(one: Pair, client_id: bytes, version: int) -> set[tuple[int, int, str]]:
    request = asking("DescribeAcls", filtering(), version)
    one.send(request_frame("DescribeAcls", version, request, client_id=client_id))
    found = one.answer("DescribeAcls", version).resources
    return {(one.resource_type, one.pattern_type, one.resource_name) for one in found}


@pytest.mark.parametrize("version", [1, 2, 3])
def test_what_is_described(version: int) -> None:
    one = pair(ADMIN, READ_X, GATE, PREFIX, GROUP)
    everything = described(one, b"kafka-acls", version)
    assert (2, 3, "team-a:") in everything
    assert described(one, SOURCE, version) == everything - {(2, 3, "team-a:")}


@pytest.mark.parametrize("version", [1, 2, 3])
def test_what_is_created(version: int) -> None:
    one = pair(ADMIN)
    wanted = creating(GATE, READ_X, GATE, PREFIX, version=version)
    one.send(request_frame("CreateAcls", version, wanted, client_id=TARGET))
    results = one.answer("CreateAcls", version).results
    assert [int(result.error_code) for result in results] == [42, 0, 42, 0]
    assert "catalog import --under" in (results[0].error_message or "")
    assert held(one.catalog.snapshot) >= {READ_X, PREFIX}
    assert GATE not in held(one.catalog.snapshot)


def test_anyone_else_creates_them() -> None:
    one = pair(ADMIN)
    one.send(request_frame("CreateAcls", 3, creating(GATE), client_id=b"kafka-acls"))
    assert [int(result.error_code) for result in one.answer("CreateAcls", 3).results] == [0]
    assert GATE in held(one.catalog.snapshot)


def test_a_request_of_nothing_else_is_rejected_whole() -> None:
    one = pair(ADMIN)
    one.send(request_frame("CreateAcls", 3, creating(GATE, GATE), client_id=TARGET))
    assert [int(result.error_code) for result in one.answer("CreateAcls", 3).results] == [42, 42]


def test_who_has_no_right_is_denied_as_ever() -> None:
    one = pair("ALLOW READ User:alice TOPIC:LITERAL:x")
    one.send(request_frame("CreateAcls", 3, creating(READ_X, GATE), client_id=TARGET))
    codes = [int(result.error_code) for result in one.answer("CreateAcls", 3).results]
    assert codes == [31, 42]
