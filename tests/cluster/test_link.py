from __future__ import annotations

import asyncio

import pytest

from gateway.brokers.connection import BrokerConnection
from gateway.brokers.errors import BrokerError
from gateway.cluster import link as cluster_link
from gateway.cluster.link import ClusterLink, ClusterUnreachable
from protocol import messages
from tests.cluster.scripted_broker import API_VERSIONS, ScriptedBroker, say_nothing

pytestmark = pytest.mark.asyncio


class Question:
    """Responds with the broker's port, unless told to reject that broker; notes which broker was
    asked."""

    def __init__(self, *reject: ScriptedBroker) -> None:
        self.reject = {broker.port for broker in reject}
        self.asked: list[int] = []

    async def __call__(self, connection: BrokerConnection) -> int:
        port: int = connection.peer[1]
        self.asked.append(port)
        if port in self.reject:
            raise BrokerError("will not do")
        return port


def link_to(*brokers: ScriptedBroker) -> ClusterLink:
    return ClusterLink("main", [broker.address for broker in brokers], timeout=120.0)


async def test_stays_where_it_is(brokers: list[ScriptedBroker]) -> None:
    link = link_to(*brokers)
    answers = [await link.ask(Question()) for _ in range(3)]
    assert answers == [brokers[0].port] * 3
    assert [broker.connections for broker in brokers] == [1, 0, 0]
    link.close()
    await brokers[0].wait_disconnected()


async def test_known_brokers_come_before_bootstrap_servers(brokers: list[ScriptedBroker]) -> None:
    link = link_to(brokers[0])
    link.know([brokers[1].address])
    assert await link.ask(Question()) == brokers[1].port
    link.close()


async def test_asks_the_next_when_an_answer_will_not_do(
    brokers: list[ScriptedBroker], caplog: pytest.LogCaptureFixture
) -> None:
    link = link_to(*brokers)
    question = Question(brokers[0], brokers[1])
    assert await link.ask(question) == brokers[2].port
    assert question.asked == [broker.port for broker in brokers]
    await brokers[0].wait_disconnected()
    await brokers[1].wait_disconnected()
    (line,) = [record.getMessage() for record in caplog.records]
    assert line == (
        f"cluster 'main' is asked at 127.0.0.1:{brokers[2].port} now:"
        f" 127.0.0.1:{brokers[0].port}: will not do; 127.0.0.1:{brokers[1].port}: will not do"
    )
    link.close()


async def test_brokers_that_are_silent_do_not_take_their_time_one_after_the_other(
    brokers: list[ScriptedBroker], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.brokers.staggered.MOST_SECONDS", 0.01)
    link = ClusterLink("main", [broker.address for broker in brokers], timeout=3600.0)
    for silent in brokers[:2]:
        silent.spoil_next(API_VERSIONS, say_nothing)
    async with asyncio.timeout(120):
        assert await link.ask(Question()) == brokers[2].port
        assert link.address == brokers[2].address
        for silent in brokers[:2]:
            await silent.wait_disconnected()
    link.close()


async def test_the_address_of_a_caller_that_gave_up_is_the_silent_one(
    brokers: list[ScriptedBroker],
) -> None:
    link = ClusterLink("main", [broker.address for broker in brokers[:2]], timeout=3600.0)
    brokers[0].spoil_next(API_VERSIONS, say_nothing)
    asking = asyncio.create_task(link.ask(Question()))
    await brokers[0].wait_asked(API_VERSIONS, 1)
    asking.cancel()
    await asyncio.wait([asking])
    assert link.address == brokers[0].address


async def test_who_failed_longest_ago_is_asked_first(brokers: list[ScriptedBroker]) -> None:
    link = link_to(*brokers)
    await link.ask(Question(brokers[0]))
    question = Question(brokers[1])
    assert await link.ask(question) == brokers[2].port
    question = Question(brokers[2])
    assert await link.ask(question) == brokers[0].port
    assert question.asked == [brokers[2].port, brokers[0].port]
    link.close()


async def test_a_lost_connection_is_made_again_at_the_same_address(
    brokers: list[ScriptedBroker],
) -> None:
    link = link_to(brokers[0])

    async def ask_versions(connection: BrokerConnection) -> bool:
        request = messages.build(messages.message_class("ApiVersionsRequest", 0))
        await connection.exchange("ApiVersionsRequest", 0, request)
        return True

    assert await link.ask(ask_versions)
    brokers[0].disconnect_all()
    await brokers[0].wait_disconnected()
    assert await link.ask(ask_versions)
    assert brokers[0].connections == 2
    link.close()


async def test_says_of_each_address_why_it_failed(brokers: list[ScriptedBroker]) -> None:
    link = link_to(*brokers[:2])
    await brokers[0].stop()
    with pytest.raises(ClusterUnreachable) as failed:
        await link.ask(Question(brokers[1]))
    assert str(failed.value) == (
        f"cluster 'main' is not reachable: 127.0.0.1:{brokers[0].port}: cannot connect:"
        f" Connection refused; 127.0.0.1:{brokers[1].port}: will not do"
    )


async def test_an_unreachable_cluster_is_handled_like_an_unreachable_broker() -> None:
    with pytest.raises(OSError, match="cluster 'main' is not reachable: why"):
        raise ClusterUnreachable("main", "why")


async def test_ipv6_addresses_are_written_in_brackets() -> None:
    failure = ClusterUnreachable("main", {("::1", 9092): "will not do"})
    assert str(failure) == "cluster 'main' is not reachable: [::1]:9092: will not do"


async def test_a_failure_is_remembered_for_a_while(
    brokers: list[ScriptedBroker], monkeypatch: pytest.MonkeyPatch
) -> None:
    link = link_to(*brokers)
    assert not link.lately_failed(brokers[0].address)
    link.note_failure(brokers[0].address)
    assert link.lately_failed(brokers[0].address)
    assert not link.lately_failed(brokers[1].address)
    monkeypatch.setattr(cluster_link, "_AVOID_SECONDS", 0.0)
    assert not link.lately_failed(brokers[0].address)


async def test_a_failure_is_forgotten_once_a_connection_works(
    brokers: list[ScriptedBroker],
) -> None:
    link = link_to(brokers[0])
    link.note_failure(brokers[0].address)
    await link.ask(Question())
    assert not link.lately_failed(brokers[0].address)
    link.close()


async def test_what_is_no_address_of_the_cluster_is_not_remembered(
    brokers: list[ScriptedBroker],
) -> None:
    link = link_to(brokers[0])
    link.know([brokers[1].address])
    for broker in brokers:
        link.note_failure(broker.address)
    link.know([brokers[2].address])
    assert [link.lately_failed(broker.address) for broker in brokers] == [True, False, True]
