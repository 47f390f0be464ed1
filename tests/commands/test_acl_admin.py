"""gateway.commands.acls: ACL requests on the wire, in as many requests as are needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gateway.acl_model import AclFilter, Operation, PatternType, Permission, ResourceType
from gateway.commands import acls as acl_command
from gateway.commands.acls import create_acls, delete_acls, describe_acls, in_order
from tests.changes.acl_requests import acl, text_of
from tests.commands.fake_acls import FakeAcls
from tests.commands.fake_gateway import drop_after, drop_before
from tests.commands.running import admin_at

TEXTS = [f"ALLOW READ User:u{n}@10.0.0.1 GROUP:PREFIXED:g{n}" for n in range(5)]
FILTERS = [AclFilter(ResourceType.GROUP, f"g{n}", PatternType.PREFIXED) for n in range(5)]


async def test_what_is_made_is_described_and_deleted() -> None:
    acls = [acl(text) for text in TEXTS]
    async with FakeAcls() as gateway, admin_at(gateway) as asking:
        assert [one.code for one in await create_acls(asking, acls)] == [0] * 5
        found, outcome = await describe_acls(asking, [*FILTERS, AclFilter()])
        assert (found, outcome.code) == (acls, 0)
        gone, outcomes = await delete_acls(asking, FILTERS[:2])
        assert gone == acls[:2]
        assert [one.code for one in outcomes] == [0, 0]
        assert gateway.texts == set(TEXTS[2:])


async def test_more_than_one_request_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acl_command, "BATCH", 2)
    async with FakeAcls() as gateway, admin_at(gateway) as asking:
        assert len(await create_acls(asking, [acl(text) for text in TEXTS])) == 5
        assert [len(one.creations) for one in gateway.asked("CreateAcls")] == [2, 2, 1]
        gone, outcomes = await delete_acls(asking, FILTERS)
        assert (len(gone), len(outcomes)) == (5, 5)
        assert [len(one.filters) for one in gateway.asked("DeleteAcls")] == [2, 2, 1]
        assert gateway.texts == set()


async def test_every_part_of_a_filter_is_sent() -> None:
    host = "10.0.0.1"
    who = ("User:a", host, Operation.WRITE, Permission.DENY)
    asked = AclFilter(ResourceType.TOPIC, "x", PatternType.MATCH, *who)
    async with FakeAcls() as gateway, admin_at(gateway) as asking:
        await describe_acls(asking, [asked])
        (sent,) = gateway.asked("DescribeAcls")
        assert (sent.resource_type_filter, sent.resource_name_filter) == (2, "x")
        assert (sent.pattern_type_filter, sent.principal_filter) == (2, "User:a")
        assert (sent.host_filter, sent.operation, sent.permission_type) == (host, 4, 2)


async def test_every_version() -> None:
    for version in (1, 2, 3):
        async with FakeAcls() as gateway, admin_at(gateway) as asking:
            gateway.highest = dict.fromkeys(("CreateAcls", "DescribeAcls", "DeleteAcls"), version)
            await create_acls(asking, [acl(TEXTS[0])])
            found, _ = await describe_acls(asking, [AclFilter()])
            assert list(map(text_of, found)) == TEXTS[:1]
            assert (await delete_acls(asking, [AclFilter()]))[0] == found
            assert all(entity.__version__ == version for _, entity in gateway.requests[1:])


class NewerAcls(FakeAcls):
    """A gateway that knows types, operations and permissions which the commands do not know."""

    def handlers(self) -> dict[str, Callable[[Any, type], dict[str, object]]]:
        return {**super().handlers(), "DescribeAcls": self._newer}

    def _newer(self, request: Any, response: type) -> dict[str, object]:
        entry = {"principal": "User:a", "host": "*", "operation": 113, "permission_type": 113}
        pattern = {"resource_type": 113, "resource_name": "x", "pattern_type": 113}
        return {"error_code": 0, "resources": [{**pattern, "acls": [entry]}]}


async def test_numbers_that_the_commands_do_not_know() -> None:
    async with NewerAcls() as gateway, admin_at(gateway) as asking:
        (found,), outcome = await describe_acls(asking, [AclFilter()])
        pattern, entry = found.pattern, found.entry
        assert outcome.code == 0
        assert {pattern.type, pattern.pattern_type, entry.operation, entry.permission} == {0}
        gateway.rejecting["DeleteAcls"] = (12345, "Something new.")
        _, (rejected,) = await delete_acls(asking, [AclFilter()])
        assert (rejected.code, rejected.error) == (12345, "12345")


async def test_a_lost_connection_and_an_error_that_passes() -> None:
    async with FakeAcls() as gateway, admin_at(gateway) as asking:
        gateway.faults["CreateAcls"] += [drop_before, drop_after]
        (outcome,) = await create_acls(asking, [acl(TEXTS[0])])
        assert outcome.code == 0
        # The first request of a process takes longer than the time for retries.
        assert (await describe_acls(asking, [AclFilter()]))[1].code == 0
        before = len(gateway.asked("DescribeAcls"))
        gateway.rejecting["DescribeAcls"] = (7, "Later.")
        gateway.before["DescribeAcls"] = lambda: None
        asking.client.timeout = 0.3
        found, outcome = await describe_acls(asking, [AclFilter()])
        assert (found, outcome.code, outcome.message) == ([], 7, "Later.")
        assert len(gateway.asked("DescribeAcls")) > before + 1


def test_order() -> None:
    texts = [
        "ALLOW READ User:b TOPIC:LITERAL:a",
        "ALLOW READ User:a TOPIC:PREFIXED:a",
        "ALLOW READ User:a TOPIC:LITERAL:b",
        "ALLOW READ User:a GROUP:LITERAL:a",
        "ALLOW READ User:a CLUSTER:LITERAL:kafka-cluster",
    ]
    assert [text_of(one) for one in in_order(map(acl, reversed(texts)))] == texts
