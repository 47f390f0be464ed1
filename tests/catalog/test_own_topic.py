"""Topics of the gateway's own: the requests to the cluster, and its responses."""

from __future__ import annotations

import pytest

from gateway.catalog.log.topics import NotInTime, TopicError, config_of, create, partitions_of
from gateway.cluster.link import ClusterUnreachable
from tests.catalog.test_catalog_topic import (
    BAD_REPLICATION,
    EXISTS,
    LEADER_NOT_AVAILABLE,
    NOT_AUTHORIZED,
    TIMED_OUT,
    TOPIC,
    FakeAdmin,
)


async def test_a_topic_that_is_not_there() -> None:
    assert await partitions_of(FakeAdmin(), TOPIC) is None


async def test_a_topic_that_is_there() -> None:
    admin = FakeAdmin(partitions=5, policy="delete")
    assert await partitions_of(admin, TOPIC) == 5
    assert await config_of(admin, TOPIC, "cleanup.policy") == "delete"
    assert not any(changes for _, changes in admin.asked)


@pytest.mark.parametrize(
    ("code", "name"),
    [(LEADER_NOT_AVAILABLE, "LEADER_NOT_AVAILABLE"), (NOT_AUTHORIZED, "AUTHORIZATION_FAILED")],
)
async def test_what_it_says_of_itself(code: int, name: str) -> None:
    with pytest.raises(TopicError, match=name):
        await partitions_of(FakeAdmin(partitions=1, metadata_code=code), TOPIC)


async def test_configs_that_may_not_be_read() -> None:
    with pytest.raises(TopicError, match="AUTHORIZATION_FAILED"):
        await config_of(
            FakeAdmin(partitions=1, describe_code=NOT_AUTHORIZED), TOPIC, "cleanup.policy"
        )


async def test_making_one_says_what_it_is_to_be() -> None:
    admin = FakeAdmin()
    await create(admin, TOPIC, {"a": "1", "b": "2"}, partitions=3, replication_factor=2)
    (made,) = admin.created
    assert (made.name, made.num_partitions, made.replication_factor) == (TOPIC, 3, 2)
    assert {config.name: config.value for config in made.configs} == {"a": "1", "b": "2"}
    assert admin.asked == [("CreateTopicsRequest", True)]


async def test_one_that_somebody_else_has_made_is_as_good() -> None:
    await create(FakeAdmin(create_code=EXISTS), TOPIC, {})


@pytest.mark.parametrize(("code", "error"), [(TIMED_OUT, NotInTime), (BAD_REPLICATION, TopicError)])
async def test_one_that_cannot_be_made(code: int, error: type[TopicError]) -> None:
    with pytest.raises(error) as caught:
        await create(FakeAdmin(create_code=code), TOPIC, {})
    assert type(caught.value) is error


async def test_nobody_answers() -> None:
    admin = FakeAdmin(down=True)
    with pytest.raises(ClusterUnreachable):
        await partitions_of(admin, TOPIC)
    with pytest.raises(ClusterUnreachable):
        await config_of(admin, TOPIC, "x")
    with pytest.raises(ClusterUnreachable):
        await create(admin, TOPIC, {})
