"""gateway.audit.setup: the sinks of a configuration, and the topic that it names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gateway.audit.audit import NO_AUDIT, Audit
from gateway.audit.setup import COMMANDS, ensure_topic, open_audit
from gateway.cluster.link import ClusterUnreachable
from gateway.sinks import topic_partitions
from gateway.sinks.topic_partitions import CONFIGS, TopicUnusable
from tests.audit import audit_samples as samples
from tests.audit.cloud_events import checked
from tests.catalog.test_catalog_topic import (
    BAD_REPLICATION,
    EXISTS,
    LEADER_NOT_AVAILABLE,
    NOT_AUTHORIZED,
    TIMED_OUT,
    TOPIC,
    FakeAdmin,
)
from tests.config import config_samples
from tests.waiting import eventually


@pytest.fixture(autouse=True)
def no_long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_partitions, "_SETTLE_SECONDS", 0.05)
    monkeypatch.setattr(topic_partitions, "_POLL_SECONDS", 0.01)


def test_without_directory_and_topic_there_is_none(tmp_path: Path) -> None:
    config = config_samples.config(tmp_path)
    assert open_audit(config, "w0", FakeAdmin()) is NO_AUDIT


async def test_files_of_a_worker(tmp_path: Path) -> None:
    audit = {"directory": str(tmp_path / "audit"), "max_file_bytes": 4_096, "max_files": 1}
    config = config_samples.config(tmp_path, gateway_id="gw-1", audit=audit)
    hub = open_audit(config, "w3", FakeAdmin())
    await hub.start()
    for _ in range(40):
        hub.denied(samples.acl_denial())
        # A write for each, because otherwise all of them would be one write.
        await eventually(lambda: hub.queued == 0, "the write")
    await hub.stop()
    names = sorted(path.name for path in (tmp_path / "audit").iterdir())
    assert all(name.startswith("audit-gw-1-w3-") for name in names)
    assert len(names) == 2, "one that is written, and max_files"
    newest = tmp_path / "audit" / names[-1]
    (event, *_) = [checked(line) for line in newest.read_bytes().splitlines()]
    assert event["source"] == "/kafka-gateway/gw-1/w3"


async def test_files_of_commands_are_all_kept(tmp_path: Path) -> None:
    audit = {"directory": str(tmp_path / "audit"), "max_files": 1}
    config = config_samples.config(tmp_path, gateway_id="gw-1", audit=audit)
    for _ in range(4):
        hub = open_audit(config, COMMANDS, FakeAdmin())
        await hub.start()
        hub.denied(samples.acl_denial())
        await hub.stop()
    assert len(list((tmp_path / "audit").iterdir())) == 4


def test_both_places(tmp_path: Path) -> None:
    audit = {"directory": str(tmp_path), "topic": "__kafka_gateway_audit"}
    hub = open_audit(config_samples.config(tmp_path, audit=audit), "w0", FakeAdmin())
    assert isinstance(hub, Audit)
    assert [sink.name for sink in hub._sinks] == ["file", "topic"]


async def test_a_missing_topic_is_made() -> None:
    admin = FakeAdmin()
    await ensure_topic(admin, TOPIC, 3)
    (topic,) = admin.created
    assert (topic.name, topic.num_partitions, topic.replication_factor) == (TOPIC, -1, 3)
    assert {config.name: config.value for config in topic.configs} == CONFIGS


@pytest.mark.parametrize("code", [EXISTS, TIMED_OUT])
async def test_somebody_else_makes_it_or_it_takes_long(code: int) -> None:
    await ensure_topic(FakeAdmin(create_code=code), TOPIC, -1)


async def test_a_topic_that_is_there_is_left_as_it_is() -> None:
    admin = FakeAdmin(partitions=6, policy="delete")
    await ensure_topic(admin, TOPIC, -1)
    assert admin.created == []


@pytest.mark.parametrize("policy", ["compact", "compact,delete"])
async def test_a_compacted_topic_is_rejected(policy: str) -> None:
    with pytest.raises(TopicUnusable, match=rf"cleanup.policy={policy} and must have exactly 'del"):
        await ensure_topic(FakeAdmin(partitions=1, policy=policy), TOPIC, -1)


@pytest.mark.parametrize(
    "admin",
    [
        FakeAdmin(create_code=BAD_REPLICATION),
        FakeAdmin(create_code=NOT_AUTHORIZED),
        FakeAdmin(partitions=1, describe_code=NOT_AUTHORIZED),
        FakeAdmin(metadata_code=NOT_AUTHORIZED),
    ],
)
async def test_what_the_cluster_rejects_is_told(admin: FakeAdmin) -> None:
    with pytest.raises(TopicUnusable, match=f"audit.topic '{TOPIC}' cannot be used: [A-Z_]+"):
        await ensure_topic(admin, TOPIC, -1)


async def test_what_passes_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_partitions, "_SETTLE_SECONDS", 60.0)
    admin = FakeAdmin(partitions=1, policy="delete", metadata_code=LEADER_NOT_AVAILABLE)
    real, asked = admin._metadata, 0

    def soon(request: Any, cls: type) -> Any:
        nonlocal asked
        asked += 1
        if asked == 3:
            admin.metadata_code = 0
        return real(request, cls)

    admin._metadata = soon  # type: ignore[method-assign]
    await ensure_topic(admin, TOPIC, -1)
    assert asked == 3


async def test_nobody_answers() -> None:
    with pytest.raises(ClusterUnreachable):
        await ensure_topic(FakeAdmin(down=True), TOPIC, -1)
