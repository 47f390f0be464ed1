"""gateway.commands.admin: requests of every version, and batches."""

from __future__ import annotations

import pytest

from gateway.commands import admin as admin_module
from gateway.commands.admin import DELETE, SET
from gateway.commands.answers import Config, Partition, Synonym
from protocol.schema import message_versions
from tests.commands.fake_gateway import FakeGateway
from tests.commands.running import admin_at


@pytest.mark.parametrize("version", [v for v in message_versions("CreateTopicsRequest") if v > 1])
async def test_create_in_every_version(version: int) -> None:
    gateway = FakeGateway("org")
    gateway.highest["CreateTopics"] = version
    async with gateway, admin_at(gateway, 25) as admin:
        outcome = await admin.create("org:a", partitions=2, configs={"k": "v"}, validate_only=True)
        assert (outcome.name, outcome.code) == ("org:a", 0)
        (request,) = gateway.asked("CreateTopics")
        assert (request.validate_only, request.timeout.total_seconds()) == (True, 25)
        assert (request.topics[0].num_partitions, request.topics[0].replication_factor) == (2, -1)


@pytest.mark.parametrize("version", message_versions("DeleteTopicsRequest"))
async def test_delete_in_every_version(version: int) -> None:
    gateway = FakeGateway("org").add("org:a", "org:b")
    gateway.highest["DeleteTopics"] = version
    async with gateway, admin_at(gateway, 25) as admin:
        outcomes = await admin.delete(["org:a", "org:none"])
        assert [(one.name, one.code) for one in outcomes] == [("org:a", 0), ("org:none", 3)]
        assert gateway.named() == {"org:b"}


@pytest.mark.parametrize("version", message_versions("DescribeConfigsRequest"))
async def test_describe_in_every_version(version: int) -> None:
    gateway = FakeGateway("org").add("org:a", retention_ms="5")
    gateway.highest["DescribeConfigs"] = version
    async with gateway, admin_at(gateway, 25) as admin:
        found, missing = await admin.describe(["org:a", "b"], ["retention.ms"], synonyms=True)
        synonym = Synonym("retention.ms", "5", 1)
        assert found.configs == {
            "retention.ms": Config("retention.ms", "5", 1, False, False, (synonym,))
        }
        assert (found.value("retention.ms"), found.value("no")) == ("5", "")
        assert (missing.outcome.code, missing.configs) == (3, {})


@pytest.mark.parametrize("version", message_versions("IncrementalAlterConfigsRequest"))
async def test_alter_in_every_version(version: int) -> None:
    gateway = FakeGateway("org")
    gateway.namespaces["org"]["b"] = "2"
    gateway.highest["IncrementalAlterConfigs"] = version
    async with gateway, admin_at(gateway, 25) as admin:
        changes = [("a", SET, "1"), ("b", DELETE, None)]
        assert (await admin.alter("org:", changes, validate_only=True)).code == 0
        assert gateway.namespaces["org"] == {"b": "2"}
        assert (await admin.alter("org:", changes, validate_only=False)).code == 0
        assert gateway.namespaces["org"] == {"a": "1"}


@pytest.mark.parametrize("version", [v for v in message_versions("MetadataRequest") if v > 0])
async def test_topics_in_every_version(version: int) -> None:
    gateway = FakeGateway("org").add("org:a", "b", partitions=2)
    gateway.highest["Metadata"] = version
    async with gateway, admin_at(gateway, 25) as admin:
        assert {topic.name for topic in await admin.topics()} == {"org:a", "b"}
        found, missing = await admin.topics(["b", "c"])
        assert found.partitions == (Partition(0, -1, (1, 2), (1,)), Partition(1, 1, (1, 2), (1,)))
        assert (found.topic_id is not None) is (version >= 10)
        assert (missing.name, missing.outcome.code, missing.partitions) == ("c", 3, ())


async def test_many_are_asked_for_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin_module, "BATCH", 2)
    names = [f"org:{number}" for number in range(5)]
    gateway = FakeGateway("org").add(*names)
    async with gateway, admin_at(gateway, 25) as admin:
        assert [topic.name for topic in await admin.topics(names)] == names
        found = await admin.describe(names)
        assert [one.outcome.name for one in found] == names
        assert [len(one.resources) for one in gateway.asked("DescribeConfigs")] == [2, 2, 1]
        assert [len(one.topics) for one in gateway.asked("Metadata")] == [2, 2, 1]


async def test_an_answer_that_leaves_something_out() -> None:
    gateway = FakeGateway("org").add("org:a")
    async with gateway, admin_at(gateway, 25) as admin:
        (known, unknown) = await admin.delete(["org:a", "org:a"])
        assert known.code == unknown.code  # one name, one result
        gateway.rejections["DeleteTopics"].append((-1, "Hm."))
        (outcome,) = await admin.delete(["org:b"])
        assert (outcome.error, outcome.message) == ("UNKNOWN_SERVER_ERROR", "Hm.")
