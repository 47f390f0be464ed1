"""gateway.connections.listeners: ports, names, and TLS files that change; on the loopback address.

Every test runs on uvloop, as the gateway does, and on asyncio's own event loop.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from pathlib import Path

import pytest

from gateway.config.models import Listener
from gateway.connections.listeners import Listeners, listener_addresses
from gateway.tls.files import TlsError
from gateway.virtual_brokers import ListenerAddresses
from tests.connections.bound_listener import NAMES, RANGES, Bound, Echo, Run, by_name, plain, secure
from tests.tls.pki import Pki
from tests.waiting import eventually


@pytest.fixture
def pki(tmp_path: Path) -> Pki:
    return Pki(tmp_path, "localhost", "gw.localhost", "*.gw.localhost", "127.0.0.1")


# -- plain text ---------------------------------------------------------------------------------


def test_every_broker_has_its_port(run: Run) -> None:
    async def test() -> None:
        async with Bound(plain()) as bound:
            for place in (None, 0, 1, 2):
                client = await bound.connect(None, place=place)
                assert await client.echo(b"hello") == b"hello"
                await client.close()
            assert [each.node_id for each in bound.accepted] == [None, 1, 2, 7]
            assert {each.principal for each in bound.accepted} == {"User:ANONYMOUS"}

    run(test)


def test_a_port_that_is_taken(run: Run) -> None:
    async def test() -> None:
        here = plain()
        with socket.create_server(("127.0.0.1", here.broker_base_port)):
            bound = Bound(here)
            with pytest.raises(OSError, match=r"(?i)address already in use"):
                await bound.listeners.start()
            bound.listeners.stop()

    run(test)


def test_a_broker_outside_the_ranges_is_told_once(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        bound = Bound(plain())
        given: list[ListenerAddresses] = []

        def accept(_: Listener, addresses: ListenerAddresses, node_id: int | None) -> Echo:
            given.append(addresses)
            return Echo(node_id)

        bound.listeners = Listeners(
            [bound.listener],
            RANGES,
            accept,
            refused=lambda *_: None,
        )
        await bound.listeners.start()
        client = await bound.connect(None)
        await eventually(lambda: given, "the client is accepted")
        given[0].endpoint(3)
        given[0].endpoint(3)
        assert bound.listeners.take_outside() == {"here": 1}
        assert bound.listeners.take_outside() == {}
        await client.close()
        bound.listeners.stop()

    run(test)
    assert caplog.messages == [
        "broker 3 is outside node_ids of listener here and is not advertised"
    ]


# -- names and files ----------------------------------------------------------------------------


def test_brokers_by_their_names(run: Run, pki: Pki) -> None:
    async def test() -> None:
        here = by_name(pki)
        async with Bound(here) as bound:
            for name in ("gw.localhost", "b1.gw.localhost", "B7.GW.LOCALHOST", "127.0.0.1"):
                client = await bound.connect(pki.client(), name)
                assert await client.echo(b"hello") == b"hello"
                await client.close()
            assert [each.node_id for each in bound.accepted] == [None, 1, 7, None]
            for name in ("b3.gw.localhost", "b1.localhost", "localhost"):
                with pytest.raises(ssl.SSLError, match="UNRECOGNIZED_NAME"):
                    await bound.connect(pki.client(), name)
            await eventually(lambda: len(bound.refused) == 3, "all are refused")
            assert {reason for _, reason in bound.refused} == {
                "TLS handshake failed: there is no such server name (SNI) here"
            }
            with pytest.raises(OSError):  # there are no other ports
                await asyncio.open_connection("127.0.0.1", here.port + 1)

    run(test)


def test_addresses() -> None:
    plain = listener_addresses(Listener(name="a", port=9000), RANGES)
    assert (plain.names, plain.port_of(7)) == (None, 9003)
    named = listener_addresses(
        Listener(name="a", port=9000, advertised_host="gw.localhost", broker_names=NAMES), RANGES
    )
    endpoint = named.endpoint(7)
    assert endpoint is not None
    assert (endpoint.host, endpoint.port) == ("b7.gw.localhost", 9000)


def test_a_certificate_that_is_renewed(run: Run, pki: Pki) -> None:
    async def test() -> None:
        async with Bound(secure(pki)) as bound:
            old = await bound.connect(pki.client())
            made = pki.ours.server("renewed")
            pki.server.certificate.write_bytes(made.certificate.read_bytes())
            pki.server.key.write_bytes(made.key.read_bytes())
            bound.listeners.reload()
            new = await bound.connect(pki.client())
            subjects = [
                client.writer.get_extra_info("peercert")["subject"] for client in (old, new)
            ]
            assert subjects == [
                ((("commonName", "server"),),),
                ((("commonName", "renewed"),),),
            ]
            assert await old.echo(b"x") == b"x"
            await old.close()
            await new.close()

    run(test)


def test_what_is_broken_at_start_is_told_with_its_listener(run: Run, pki: Pki) -> None:
    async def test() -> None:
        pki.server.key.unlink()
        bound = Bound(secure(pki))
        with pytest.raises(TlsError) as caught:
            await bound.listeners.start()
        assert str(caught.value) == (
            f"listener here: key: '{pki.server.key}' cannot be read: "
            "no such file or directory; correct it"
        )

    run(test)
