"""gateway.commands.client: requests, and requests sent again."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from devkit.ports import free_port
from gateway.commands.admin import Admin
from gateway.commands.client import GatewayClient
from gateway.commands.errors import CommandError, Unavailable
from gateway.config.addresses import Address
from protocol.messages import Request, element_class, has_field
from tests.commands.fake_gateway import HOST, FakeGateway, drop_after, drop_before


async def create(gateway: FakeGateway, timeout: float = 120) -> Any:
    client = GatewayClient([Address(HOST, gateway.port)], timeout=timeout)
    try:
        return await Admin(client).create("org:")
    finally:
        client.close()


async def test_errors_that_pass_are_waited_out() -> None:
    async with FakeGateway() as gateway:
        gateway.rejections["CreateTopics"] += [(7, "Later."), (41, "Not I.")]
        outcome = await create(gateway)
        assert (outcome.code, outcome.repeated) == (0, True)
        assert len(gateway.asked("CreateTopics")) == 3


async def test_errors_that_stay_are_not() -> None:
    async with FakeGateway() as gateway:
        gateway.rejections["CreateTopics"].append((44, "Against the rules."))
        outcome = await create(gateway)
        assert (outcome.code, outcome.error) == (44, "POLICY_VIOLATION")
        assert (outcome.message, outcome.repeated) == ("Against the rules.", False)


async def test_the_last_answer_counts_when_time_is_up() -> None:
    async with FakeGateway() as gateway:
        gateway.rejections["CreateTopics"] += [(7, "Later.")] * 100
        outcome = await create(gateway, timeout=0.4)
        assert (outcome.code, outcome.message) == (7, "Later.")
        assert 2 <= len(gateway.asked("CreateTopics")) < 10


async def test_a_lost_connection_is_made_anew() -> None:
    async with FakeGateway() as gateway:
        gateway.faults["CreateTopics"] += [drop_before]
        outcome = await create(gateway)
        assert (outcome.code, outcome.repeated) == (0, True)


async def test_a_listener_that_asks_for_a_login_is_not_tried_until_time_is_up() -> None:
    """It answers ApiVersions, as brokers do, and closes a connection that sends another request
    (KIP-43)."""
    async with FakeGateway() as gateway:
        gateway.faults["listener"] += [drop_after] * 100
        with pytest.raises(Unavailable) as caught:
            await create(gateway, timeout=600)
        assert len(gateway.faults["listener"]) == 98
        assert str(caught.value) == (
            f"no answer from the gateway: {gateway.address}: closed the connection instead of "
            "answering DescribeConfigsRequest; see that it runs, that its brokers do (/readyz "
            "tells), and that --bootstrap-server is the address of one of its listeners; if it "
            "asks for TLS or a login, --command-config says how"
        )


async def test_an_answer_that_was_there_before_the_connection_was_lost_counts() -> None:
    async with FakeGateway() as gateway:
        gateway.rejections["CreateTopics"] += [(7, "Later.")]
        task = asyncio.create_task(create(gateway, timeout=0.5))
        while not gateway.asked("CreateTopics"):
            await asyncio.sleep(0.001)
        gateway.faults["CreateTopics"] += [drop_before] * 100
        assert (await task).code == 7


async def test_who_never_answered_is_not_waited_for() -> None:
    port = free_port()
    started = time.monotonic()
    with pytest.raises(Unavailable) as caught:
        await Admin(GatewayClient([Address(HOST, port)], timeout=600)).topics()
    assert time.monotonic() - started < 120
    assert f"{HOST}:{port}: cannot connect: Connection refused; see that" in str(caught.value)


async def test_addresses_are_tried_in_turn() -> None:
    async with FakeGateway("org").add("org:a") as gateway:
        client = GatewayClient([Address(HOST, free_port()), Address(HOST, gateway.port)])
        assert [topic.name for topic in await Admin(client).topics()] == ["org:a"]
        client.close()
        client.close()


async def test_a_server_that_does_not_know_the_request() -> None:
    async with FakeGateway() as gateway:
        gateway.highest["CreateTopics"] = -1
        with pytest.raises(Unavailable, match="speaks no version of CreateTopicsRequest"):
            await create(gateway, timeout=0.2)


async def test_what_cannot_be_written() -> None:
    async with FakeGateway() as gateway:
        client = GatewayClient([Address(HOST, gateway.port)])
        with pytest.raises(CommandError, match="the CreateTopicsRequest cannot be written: "):
            await Admin(client).create("org:t", partitions=2**40)
        client.close()


async def test_the_newest_version_that_the_caller_understands() -> None:
    async with FakeGateway("org") as gateway:
        client = GatewayClient([Address(HOST, gateway.port)], timeout=10)
        try:
            for at_most, spoken in ((12, True), (9, False)):
                await client.ask(Request("MetadataRequest", at_most, {"topics": ()}))
                (request,) = gateway.asked("Metadata")[-1:]
                # Topic ids came with v10.
                has_ids = has_field(element_class(type(request), "topics"), "topic_id")
                assert has_ids is spoken
        finally:
            client.close()


async def test_what_is_served() -> None:
    async with FakeGateway("org") as gateway:
        gateway.highest["Metadata"] = 9
        client = GatewayClient([Address(HOST, gateway.port)], timeout=10)
        try:
            assert await client.serves("MetadataRequest", 9)
            assert not await client.serves("MetadataRequest", 10)
            assert not await client.serves("DescribeAclsRequest", 0)
        finally:
            client.close()


async def test_another_address_is_asked_in_the_same_way() -> None:
    async with FakeGateway("org") as gateway:
        first = GatewayClient([Address(HOST, free_port())], timeout=0.3)
        second = first.at(Address(HOST, gateway.port))
        try:
            assert second.timeout == first.timeout
            assert await second.serves("MetadataRequest", 0)
            with pytest.raises(Unavailable):
                await first.serves("MetadataRequest", 0)
        finally:
            second.close()
            first.close()
