"""gateway.brokers.dialing: names with several addresses, of which some do not accept."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from devkit.certificates import Authority
from gateway.brokers import dialing
from gateway.brokers.connection import BrokerConnection
from gateway.brokers.dialing import dial_streams
from gateway.brokers.errors import BrokerError, SecurityError
from gateway.brokers.lookups import Lookups
from gateway.brokers.opening import open_transport
from gateway.brokers.security import BrokerSecurity
from gateway.config.security import ClientTls, ClusterSecurity
from tests.auth.sasl_broker import SaslBroker
from tests.brokers.name_server import NameServer
from tests.brokers.tls_broker import TlsBroker
from tests.cluster.scripted_broker import ClusterState, ScriptedBroker

Test = Callable[[], Any]


@contextmanager
def silent(port: int) -> Iterator[str]:
    """An address that drops connection requests, as a firewall does, because its backlog is
    full."""
    with ExitStack() as opened:
        listening = opened.enter_context(socket.socket())
        listening.bind(("127.0.0.9", port))
        listening.listen(0)
        for _ in range(8):
            asking = opened.enter_context(socket.socket())
            asking.setblocking(False)
            asking.connect_ex(("127.0.0.9", port))
        yield "127.0.0.9"


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> Lookups:
    looked = Lookups()
    monkeypatch.setattr(dialing, "LOOKUPS", looked)
    return looked


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch, looked: Lookups) -> NameServer:
    return NameServer(monkeypatch)


def test_an_address_that_drops_packets_does_not_use_up_the_time(
    run: Callable[[Test], None], names: NameServer, looked: Lookups
) -> None:
    async def test() -> None:
        async with ScriptedBroker(ClusterState()) as broker:
            with silent(broker.port) as first:
                names.addresses["kafka"] = [first, "127.0.0.1"]
                connection = await BrokerConnection.connect("kafka", broker.port, timeout=60)
                assert connection.peer == broker.address
                connection.close()
                # The address that worked is in front, so there is nothing to wait for.
                order = await looked.addresses("kafka", broker.port)
                assert [info[4] for info in order] == [broker.address, (first, broker.port)]

    run(test)


def test_so_do_the_connections_of_clients(run: Callable[[Test], None], names: NameServer) -> None:
    async def test() -> None:
        loop = asyncio.get_running_loop()
        connected = loop.create_future()

        class Taker(asyncio.Protocol):
            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                connected.set_result(transport)

        async with ScriptedBroker(ClusterState()) as broker:
            with silent(broker.port) as first:
                names.addresses["kafka"] = [first, "127.0.0.1"]
                async with asyncio.timeout(60):
                    await open_transport(BrokerSecurity(), "kafka", broker.port, Taker, {})
                transport = await connected
                assert transport.get_extra_info("peername") == broker.address
                # Small requests do not wait for acknowledgements of earlier requests.
                opened = transport.get_extra_info("socket")
                assert opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
                transport.abort()

    run(test)


async def test_nothing_that_was_tried_stays_open(names: NameServer) -> None:
    async with ScriptedBroker(ClusterState()) as broker:
        with silent(broker.port) as first:
            names.addresses["kafka"] = [first, "127.0.0.1"]
            for _ in range(3):
                _, writer = await dial_streams("kafka", broker.port)
                writer.transport.abort()
            await broker.wait_disconnected()
        names.addresses["kafka"] = ["127.0.0.9", "127.0.0.8"]
        with pytest.raises(BrokerError, match="refused"):
            await BrokerConnection.connect("kafka", broker.port, timeout=60)
        names.addresses["kafka"] = ["127.0.0.1"]
        _, writer = await dial_streams("kafka", broker.port)
        writer.transport.abort()


@pytest.mark.parametrize("named", ["kafka", "another"])
def test_a_certificate_is_for_the_name_not_for_the_address_that_won(
    run: Callable[[Test], None], names: NameServer, tmp_path: Path, named: str
) -> None:
    authority = Authority(tmp_path)
    tls = ClientTls(ca=authority.file)
    security = BrokerSecurity(ClusterSecurity(protocol="SSL", tls=tls))

    async def test() -> None:
        credentials = authority.server(hosts=[named])
        async with TlsBroker(SaslBroker({}), credentials) as broker:
            with silent(broker.port) as first:
                names.addresses["kafka"] = [first, "127.0.0.1"]
                connecting = BrokerConnection.connect(
                    "kafka", broker.port, timeout=60, security=security
                )
                if named != "kafka":
                    with pytest.raises(SecurityError, match="another host"):
                        await connecting
                    return
                connection = await connecting
                assert connection.certificate is not None
                await connection.ping()
                connection.close()

    run(test)
