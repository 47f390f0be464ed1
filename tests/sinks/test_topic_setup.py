"""gateway.sinks.topic_partitions: cases that tests of the audit topic (test_setup) do not cover."""

from __future__ import annotations

import pytest

from gateway.sinks import topic_partitions
from gateway.sinks.topic_partitions import CONFIGS, TopicUnusable, ensure_topic
from tests.catalog.test_catalog_topic import NOT_AUTHORIZED, TOPIC, FakeAdmin


@pytest.fixture(autouse=True)
def no_long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_partitions, "_SETTLE_SECONDS", 0.05)


async def test_a_rejection_names_the_key_of_the_configuration() -> None:
    admin = FakeAdmin(metadata_code=NOT_AUTHORIZED)
    with pytest.raises(TopicUnusable, match=f"traffic_log.topic '{TOPIC}' cannot be used: [A-Z_]+"):
        await ensure_topic("traffic_log.topic", "nothing", admin, TOPIC, 1)


async def test_a_topic_that_is_compacted_is_not_used() -> None:
    admin = FakeAdmin(partitions=1)
    with pytest.raises(TopicUnusable, match=r"=compact .* the broker keeps nothing"):
        await ensure_topic("traffic_log.topic", "nothing", admin, TOPIC, 1)


def test_its_records_are_deleted_by_age() -> None:
    assert CONFIGS == {"cleanup.policy": "delete"}
