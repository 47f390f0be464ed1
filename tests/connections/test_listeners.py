"""gateway.connections.listeners: ports, names, and TLS files that change; on the loopback address.

Every test runs on uvloop, as the gateway does, and on asyncio's own event loop.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from pathlib import Path

import pytest

from gateway.config.models import Listener
from gateway.connections.listeners import listener_addresses
from gateway.node_ids import NodeIdRanges
from gateway.tls.contexts import TlsError
from gateway.virtual_brokers import ListenerAddresses, Target, Volume
from tests.connections.bound_listener import NAMES, RANGES, Bound, Echo, Run, by_name, plain, secure
from tests.tls.pki import Pki
from tests.tls.test_client_hello import written_hello
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


def test_the_gateway_has_its_port(run: Run) -> None:
    async def test() -> None:
        async with Bound(plain(in_fleet=True)) as bound:
            for place in (None, 2, 3):
                client = await bound.connect(None, place=place)
                assert await client.echo(b"hello") == b"hello"
                await client.close()
            found = [(each.node_id, each.gateway) for each in bound.accepted]
            assert found == [(None, False), (7, False), (None, True)]

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

        def accept(_: Listener, target: Target) -> Echo:
            given.append(target.addresses)
            return Echo(target.node_id, target.volume)

        bound.listeners = bound.bind(accept)
        await bound.listeners.start()
        client = await bound.connect(None)
        await eventually(lambda: given, "the client is accepted")
        given[0].endpoint(3)
        given[0].endpoint(3)
        assert bound.counted() == [("nodes_outside_ranges", ("here",), 1)]
        assert bound.counted() == []
        await client.close()
        bound.listeners.stop()

    run(test)
    assert caplog.messages == [
        "broker 3 is outside node_ids of listener here and is not advertised"
    ]


# -- names and files ----------------------------------------------------------------------------


def test_the_gateway_by_its_name(run: Run, pki: Pki) -> None:
    async def test() -> None:
        async with Bound(by_name(pki, gateway_name="gw-a.gw.localhost")) as bound:
            for name in ("gw.localhost", "b7.gw.localhost", "gw-a.gw.localhost"):
                client = await bound.connect(pki.client(), name)
                assert await client.echo(b"hello") == b"hello"
                await client.close()
            found = [(each.node_id, each.gateway) for each in bound.accepted]
            assert found == [(None, False), (7, False), (None, True)]

    run(test)


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
            await eventually(lambda: len(bound.rejected) == 3, "all are refused")
            assert {reason for _, reason in bound.rejected} == {
                "TLS handshake failed: there is no such server name (SNI) here"
            }
            with pytest.raises(OSError):  # there are no other ports
                await asyncio.open_connection("127.0.0.1", here.port + 1)

    run(test)


def test_a_broker_of_a_tree_outside_the_ranges(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        bound = Bound(plain(volume="la"), TREE)
        given: list[Target] = []

        def accept(_: Listener, target: Target) -> Echo:
            given.append(target)
            return Echo(target.node_id, target.volume)

        bound.listeners = bound.bind(accept)
        await bound.listeners.start()
        client = await bound.connect(None)
        await eventually(lambda: given, "the client is accepted")
        assert given[0].addresses.endpoint(9) is None
        await client.close()
        bound.listeners.stop()

    run(test)
    assert caplog.messages == [
        "broker 9 of :la is outside node_ids of listener here and is not advertised"
    ]


TREE = (
    Volume("la", 3, NodeIdRanges.parse(["1-2"])),
    Volume("", 1, NodeIdRanges.parse(["1"])),
)


def test_the_brokers_of_a_tree_have_ports_end_to_end(run: Run) -> None:
    async def test() -> None:
        async with Bound(plain(volume="la"), TREE) as bound:
            for place in (None, 0, 1, 2):
                client = await bound.connect(None, place=place)
                assert await client.echo(b"hello") == b"hello"
                await client.close()
            assert [(each.volume, each.node_id) for each in bound.accepted] == [
                *(("la", None), ("la", 1), ("la", 2), ("", 1))
            ]

    run(test)


def test_the_brokers_of_a_tree_have_names_with_their_virtual_ids(run: Run, pki: Pki) -> None:
    async def test() -> None:
        here = by_name(pki)
        async with Bound(here, TREE) as bound:
            first, second, root = 3 * 65_536 + 1, 3 * 65_536 + 2, 65_537
            for name in ("gw", f"b{first}.gw", f"b{second}.gw", f"b{root}.gw"):
                client = await bound.connect(pki.client(), f"{name}.localhost")
                assert await client.echo(b"hello") == b"hello"
                await client.close()
            assert [(each.volume, each.node_id) for each in bound.accepted] == [
                *(("", None), ("la", 1), ("la", 2), ("", 1))
            ]
            for name in ("b1", "b2", f"b{root + 1}", f"b{3 * 65_536}"):
                with pytest.raises(ssl.SSLError, match="UNRECOGNIZED_NAME"):
                    await bound.connect(pki.client(), f"{name}.gw.localhost")

    run(test)


def test_addresses() -> None:
    plain = listener_addresses(Listener(name="a", port=9000), RANGES)
    endpoint = plain.endpoint(7)
    assert endpoint is not None
    assert (plain.names, endpoint.port) == (None, 9003)
    named = listener_addresses(
        Listener(name="a", port=9000, advertised_host="gw.localhost", broker_names=NAMES), RANGES
    )
    endpoint = named.endpoint(7)
    assert endpoint is not None
    assert (endpoint.host, endpoint.port) == ("b7.gw.localhost", 9000)


def test_a_certificate_that_is_renewed(
    run: Run, pki: Pki, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)

    async def test() -> None:
        async with Bound(secure(pki)) as bound:
            old = await bound.connect(pki.client())
            made = pki.ours.server("renewed")
            pki.server.certificate.write_bytes(made.certificate.read_bytes())
            pki.server.key.write_bytes(made.key.read_bytes())
            bound.listeners.reload()  # which reads the files in a thread
            await eventually(lambda: "uses the TLS files" in caplog.text, "the files are read")
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


def resumed(
    context: ssl.SSLContext, port: int, name: str | None, session: ssl.SSLSession | None
) -> tuple[ssl.SSLSession | None, bool | None]:
    """A client that blocks: returns its connection's session, and whether that is an older
    session."""
    with (
        socket.create_connection(("127.0.0.1", port), 10) as plain_socket,
        context.wrap_socket(plain_socket, server_hostname=name, session=session) as client,
    ):
        client.sendall(b"x")
        assert client.recv(1) == b"x"
        kept = client.session, client.session_reused
        client.unwrap()  # OpenSSL forgets sessions that just break off
        return kept


def test_a_session_is_resumed_under_its_own_name_alone(run: Run, pki: Pki) -> None:
    """RFC 6066, 3: under another name it is a full handshake, and another broker."""

    async def test() -> None:
        async with Bound(by_name(pki)) as bound:
            context = pki.client()
            context.check_hostname = False
            context.maximum_version = ssl.TLSVersion.TLSv1_2
            port = bound.listener.port

            async def connect(
                name: str | None, session: ssl.SSLSession | None = None
            ) -> tuple[ssl.SSLSession | None, bool | None]:
                return await asyncio.to_thread(resumed, context, port, name, session)

            first, _ = await connect("b1.gw.localhost")
            assert (await connect("b1.gw.localhost", first))[1]
            assert (await connect("B1.gw.localhost", first))[1]
            for name in ("b7.gw.localhost", "gw.localhost", None):
                assert not (await connect(name, first))[1]
            unnamed, _ = await connect(None)
            assert (await connect(None, unnamed))[1]
            assert not (await connect("b2.gw.localhost", unnamed))[1]
            nodes = [1, 1, 1, 7, None, None, None, None, 2]
            assert [each.node_id for each in bound.accepted] == nodes
            assert bound.rejected == []

    run(test)


@pytest.mark.parametrize("named", [True, False])
def test_a_name_that_is_no_text(
    run: Run, pki: Pki, named: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    """The alert is unrecognized_name, counted as any other; if no names matter, there is no
    alert."""

    async def test() -> None:
        async with Bound(by_name(pki) if named else secure(pki)) as bound:
            reader, writer = await asyncio.open_connection("127.0.0.1", bound.listener.port)
            writer.write(written_hello(b"b1\xff\xfe.gw.localhost"))
            alert = await reader.read()
            assert alert[:1] == b"\x15"
            await eventually(lambda: bound.rejected, "it is refused")
            ((_, reason),) = bound.rejected
            if named:
                assert alert[-2:] == b"\x02\x70", "fatal, unrecognized_name"
                assert reason == "TLS handshake failed: there is no such server name (SNI) here"
            else:
                assert "server name" not in reason, "OpenSSL refuses what else is wrong with it"
            writer.close()

    run(test)
    printed = capfd.readouterr()
    assert "Traceback" not in printed.err + printed.out
