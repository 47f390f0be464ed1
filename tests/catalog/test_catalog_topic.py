"""The catalog's topic, made and checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from gateway.catalog.log.topics import (
    CONFIGS,
    CatalogLost,
    CatalogTopicError,
    check_topic,
    ensure_topic,
    leave_mark,
    mark_of,
)
from gateway.catalog.source import CatalogUnavailable
from gateway.cluster.link import ClusterUnreachable
from protocol import messages
from protocol.messages import Request, element_class, make
from protocol.schema import api_key_of, message_versions, response_name
from tests.brokers.asks_no_broker import AsksNoBroker

TOPIC = "__kafka_gateway_catalog"
UNKNOWN_TOPIC = 3
LEADER_NOT_AVAILABLE = 5
NOT_AUTHORIZED = 29
TIMED_OUT = 7
EXISTS = 36
BAD_REPLICATION = 38


@dataclass
class FakeAdmin(AsksNoBroker):
    """A cluster with at most one topic and its mark; requests are written and parsed."""

    partitions: int = 0
    policy: str = "compact"
    down: bool = False
    create_code: int = 0
    describe_code: int = 0
    metadata_code: int = 0
    marked: bool = False
    mark_code: int = 0
    mark_create_code: int = 0
    made_by_another: bool = False
    unknown_for: int = 0
    created: list[Any] = field(default_factory=list)
    asked: list[tuple[str, bool]] = field(default_factory=list)

    async def ask(self, request: Request, *, changes: bool = True) -> Any:
        """Respond as BrokerAdmin does."""
        self.asked.append((request.name, changes))
        if self.down:
            raise ClusterUnreachable("main", "127.0.0.1:9092: connection refused")
        version = max(v for v in message_versions(request.name) if v <= request.at_most)
        entity = request.entity(version)
        body = messages.write(entity)
        entity = messages.parse(request.name, version, body)
        response = response_name(api_key_of(request.name))
        answer = {
            "MetadataRequest": self._metadata,
            "CreateTopicsRequest": self._create,
            "DescribeConfigsRequest": self._describe,
        }[request.name](entity, messages.message_class(response, version))
        return messages.parse(response, version, messages.write(answer))

    def _metadata(self, request: Any, cls: type) -> Any:
        names = [topic.name for topic in request.topics]
        assert names in ([TOPIC], [TOPIC, mark_of(TOPIC)])
        assert request.allow_auto_topic_creation is False
        topic = element_class(cls, "topics")
        partition = element_class(topic, "partitions")
        hidden = self.unknown_for > 0
        self.unknown_for -= 1
        count = 0 if hidden else self.partitions
        code = self.metadata_code or (0 if count else UNKNOWN_TOPIC)
        found = make(
            topic,
            {
                "error_code": code,
                "name": TOPIC,
                "partitions": tuple(
                    make(partition, {"partition_index": n, "leader_id": 1}) for n in range(count)
                ),
            },
        )
        mark = {
            "error_code": self.mark_code or (0 if self.marked else UNKNOWN_TOPIC),
            "name": mark_of(TOPIC),
        }
        return make(cls, {"topics": (found, make(topic, mark))[: len(names)]})

    def _create(self, request: Any, cls: type) -> Any:
        (wanted,) = request.topics
        if wanted.name == mark_of(TOPIC):
            return self._make_mark(wanted, cls)
        code = EXISTS if self.made_by_another else self.create_code
        if not code:
            self.created.append(wanted)
        if code in (0, EXISTS):
            self.partitions = self.partitions or 1
        topic = element_class(cls, "topics")
        values = {"name": TOPIC, "error_code": code, "error_message": "says the broker"}
        return make(cls, {"topics": (make(topic, values),)})

    def _make_mark(self, wanted: Any, cls: type) -> Any:
        if not self.mark_create_code:
            self.marked = True
        values = {"name": wanted.name, "error_code": self.mark_create_code}
        return make(cls, {"topics": (make(element_class(cls, "topics"), values),)})

    def _describe(self, request: Any, cls: type) -> Any:
        (resource,) = request.resources
        assert (resource.resource_type, resource.resource_name) == (2, TOPIC)
        assert list(resource.configuration_keys) == ["cleanup.policy"]
        result = element_class(cls, "results")
        config = element_class(result, "configs")
        values = {"name": "cleanup.policy", "value": self.policy}
        found = {
            "error_code": self.describe_code,
            "error_message": "says the broker",
            "resource_type": 2,
            "resource_name": TOPIC,
            "configs": (make(config, values),),
        }
        return make(cls, {"results": (make(result, found),)})


async def test_a_missing_topic_is_made() -> None:
    admin = FakeAdmin()
    await ensure_topic(admin, TOPIC, 3)
    (made,) = admin.created
    assert (made.name, made.num_partitions, made.replication_factor) == (TOPIC, 1, 3)
    assert {config.name: config.value for config in made.configs} == CONFIGS
    assert CONFIGS["cleanup.policy"] == "compact"


async def test_the_replication_factor_is_the_brokers_unless_it_is_given() -> None:
    admin = FakeAdmin()
    await ensure_topic(admin, TOPIC)
    assert admin.created[0].replication_factor == -1


async def test_a_fit_topic_is_left_alone() -> None:
    admin = FakeAdmin(partitions=1)
    await ensure_topic(admin, TOPIC)
    assert admin.asked == [("MetadataRequest", False), ("DescribeConfigsRequest", False)]


async def test_another_gateway_may_make_it_at_the_same_time() -> None:
    admin = FakeAdmin(made_by_another=True)
    await ensure_topic(admin, TOPIC)
    assert admin.created == []


async def test_brokers_may_hear_of_it_later() -> None:
    admin = FakeAdmin(unknown_for=4)
    await ensure_topic(admin, TOPIC)
    assert len(admin.created) == 1


@pytest.mark.parametrize("policy", ["delete", "compact,delete", "delete,compact", ""])
async def test_any_other_cleanup_policy_is_rejected(policy: str) -> None:
    with pytest.raises(CatalogTopicError, match="must have exactly 'compact'"):
        await ensure_topic(FakeAdmin(partitions=1, policy=policy), TOPIC)


async def test_more_than_one_partition_is_rejected() -> None:
    with pytest.raises(CatalogTopicError, match="has 3 partitions and must have exactly 1"):
        await ensure_topic(FakeAdmin(partitions=3), TOPIC)


async def test_what_the_broker_rejects_is_told() -> None:
    with pytest.raises(CatalogTopicError, match=r"cannot be made: INVALID_REPL.*says the broker"):
        await ensure_topic(FakeAdmin(create_code=BAD_REPLICATION), TOPIC)


async def test_without_the_right_to_make_it_the_next_step_is_told() -> None:
    with pytest.raises(CatalogTopicError, match=r"AUTHORIZATION_FAILED.*CREATE.*docs/brokers\.md"):
        await ensure_topic(FakeAdmin(create_code=NOT_AUTHORIZED), TOPIC)


async def test_configs_that_cannot_be_read_are_told() -> None:
    admin = FakeAdmin(partitions=1, describe_code=NOT_AUTHORIZED)
    with pytest.raises(CatalogTopicError, match="cannot be read: TOPIC_AUTHORIZATION_FAILED"):
        await ensure_topic(admin, TOPIC)


@pytest.mark.parametrize(
    "admin",
    [
        FakeAdmin(down=True),
        FakeAdmin(create_code=TIMED_OUT),
        FakeAdmin(metadata_code=LEADER_NOT_AVAILABLE),
    ],
)
async def test_what_may_pass_is_unavailable_without_an_address(admin: FakeAdmin) -> None:
    with pytest.raises(CatalogUnavailable) as raised:
        await ensure_topic(admin, TOPIC)
    assert "9092" not in str(raised.value)


async def test_a_check_tells_whether_it_is_there() -> None:
    assert not await check_topic(FakeAdmin(), TOPIC)
    assert not await check_topic(FakeAdmin(partitions=1, describe_code=UNKNOWN_TOPIC), TOPIC)
    assert await check_topic(FakeAdmin(partitions=1), TOPIC)


async def test_a_topic_that_is_gone_is_not_made_again() -> None:
    admin = FakeAdmin(marked=True)
    with pytest.raises(CatalogLost, match=r"catalog restore.*--new-catalog la$"):
        await ensure_topic(admin, TOPIC, cluster="la")
    assert admin.created == []


async def test_unless_the_operator_says_so() -> None:
    admin = FakeAdmin(marked=True)
    assert await ensure_topic(admin, TOPIC, anew=True)
    assert len(admin.created) == 1


async def test_a_mark_without_a_leader_is_a_mark() -> None:
    with pytest.raises(CatalogLost):
        await ensure_topic(FakeAdmin(mark_code=LEADER_NOT_AVAILABLE), TOPIC)


async def test_topic_and_mark_are_looked_for_in_one_response() -> None:
    admin = FakeAdmin(partitions=1, marked=True)
    assert await ensure_topic(admin, TOPIC)
    assert [name for name, _ in admin.asked].count("MetadataRequest") == 1


async def test_the_mark_is_made_once() -> None:
    admin = FakeAdmin(partitions=1)
    assert not await ensure_topic(admin, TOPIC)
    await leave_mark(admin, TOPIC)
    assert await ensure_topic(admin, TOPIC)
