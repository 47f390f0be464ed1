"""gateway.tls.handshake: the outcomes of clients of a listener with TLS.

Every test runs on uvloop, as the gateway does, and on asyncio's own event loop.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from datetime import timedelta
from pathlib import Path

import pytest

from tests.connections.bound_listener import Bound, Echo, Run, plain, quietly, secure
from tests.tls.pki import Pki
from tests.waiting import eventually


@pytest.fixture
def pki(tmp_path: Path) -> Pki:
    return Pki(tmp_path, "localhost", "gw.localhost", "*.gw.localhost", "127.0.0.1")


# -- TLS ----------------------------------------------------------------------------------------


def test_over_tls(run: Run, pki: Pki) -> None:
    async def test() -> None:
        async with Bound(secure(pki)) as bound:
            for place in (None, 2):
                client = await bound.connect(pki.client(), place=place)
                assert await client.echo(b"hello") == b"hello"
                await client.close()
            assert [each.node_id for each in bound.accepted] == [None, 7]
            assert bound.rejected == []
            assert len(bound.unauthenticated) == 0

    run(test)


def test_what_is_sent_along_with_the_handshake_arrives(run: Run, pki: Pki) -> None:
    """The client's last message of the handshake and its first request in one packet."""

    async def test() -> None:
        async with Bound(secure(pki)) as bound:
            to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
            tls = pki.client().wrap_bio(to_client, to_server, server_hostname="localhost")
            reader, writer = await asyncio.open_connection("127.0.0.1", bound.listener.port)
            while True:
                try:
                    tls.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    writer.write(to_server.read())
                    to_client.write(await reader.read(65_536))
            tls.write(b"hello")
            writer.write(to_server.read())
            answer = b""
            while not answer:
                to_client.write(await reader.read(65_536))
                try:
                    answer = tls.read()
                except ssl.SSLWantReadError:
                    continue
            assert answer == b"hello"
            writer.close()

    run(test)


def test_many_bytes_both_ways(run: Run, pki: Pki) -> None:
    async def test() -> None:
        async with Bound(secure(pki)) as bound:
            client = await bound.connect(pki.client())
            data = bytes(range(256)) * 20_000
            assert await client.echo(data) == data
            await client.close()

    run(test)


def test_the_client_is_known_when_its_connection_begins(run: Run, pki: Pki) -> None:
    async def test() -> None:
        rules = ("RULE:CN=(a.*)/$1/U",)
        settings = {"client_ca": pki.ours.file, "principal_mapping_rules": rules}
        async with Bound(secure(pki, client_auth="requested", **settings)) as bound:
            alice = await bound.connect(pki.client(pki.ours.client("alice")))
            nobody = await bound.connect(pki.client())
            await alice.echo(b"x")
            await nobody.echo(b"x")
            principals = [each.principal for each in bound.accepted]
            assert principals == ["User:ALICE", "User:ANONYMOUS"]
            bob = await bound.connect(pki.client(pki.ours.client("bob")))
            with pytest.raises((OSError, asyncio.IncompleteReadError)):
                await bob.echo(b"x")
            await eventually(lambda: bound.rejected, "the client is refused")
            assert bound.rejected == [
                (bob.address, "no principal: no rule of principal_mapping_rules is for 'CN=bob'")
            ]
            assert len(bound.accepted) == 2
            for client in (alice, nobody, bob):
                await client.close()

    run(test)


def test_with_sasl_the_certificate_says_nothing(run: Run, pki: Pki) -> None:
    async def test() -> None:
        tls = pki.listener(client_auth="required", client_ca=pki.ours.file)
        async with Bound(plain(security_protocol="SASL_SSL", tls=tls)) as bound:
            client = await bound.connect(pki.client(pki.ours.client("alice")))
            await client.echo(b"x")
            assert bound.accepted[0].principal == "User:ANONYMOUS"
            await client.close()

    run(test)


# -- handshakes that fail -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("which", "reason"),
    [
        ("none", "peer did not return a certificate"),
        (
            "foreign",
            "the client's certificate is not believed: unable to get local issuer certificate",
        ),
        ("expired", "the client's certificate is not believed: certificate has expired"),
    ],
)
def test_clients_that_do_not_prove_who_they_are(
    run: Run, pki: Pki, which: str, reason: str
) -> None:
    shown = {
        "none": None,
        "foreign": pki.foreign.client("mallory"),
        "expired": pki.ours.client("late", valid=-timedelta(hours=1)),
    }[which]

    async def test() -> None:
        settings = {"client_auth": "required", "client_ca": pki.ours.file}
        async with Bound(secure(pki, **settings)) as bound:
            client = await bound.connect(pki.client(shown))
            with pytest.raises(ssl.SSLError, match="ALERT"):  # an alert, and no mere end
                await client.echo(b"x")
            await eventually(lambda: bound.rejected, "the client is refused")
            assert bound.rejected == [(client.address, f"TLS handshake failed: {reason}")]
            assert bound.accepted == []
            await client.close()

    run(test)


def test_a_client_that_does_not_believe_the_listener(run: Run, pki: Pki) -> None:
    async def test() -> None:
        async with Bound(secure(pki)) as bound:
            client = ssl.create_default_context(cafile=pki.foreign.file)

            def connect() -> None:
                # With a socket, because asyncio's own TLS drops the alert that has the reason.
                with socket.create_connection(("127.0.0.1", bound.listener.port)) as tcp:
                    client.wrap_socket(tcp, server_hostname="localhost")

            with pytest.raises(ssl.SSLCertVerificationError):
                await asyncio.to_thread(connect)
            await eventually(lambda: bound.rejected, "the client is refused")
            assert bound.rejected[0][1] == "TLS handshake failed: tlsv1 alert unknown ca"

    run(test)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\0\0\0\x1a\0\x12\0\0\0\0\0\1\0\4test", "wrong version number"),
        (b"GET / HTTP/1.1\r\n\r\n", "http request"),
        (b"\x16\x03\x01\xff\xff" + b"x" * 100, "packet length too long"),
    ],
)
def test_clients_that_speak_no_tls(run: Run, pki: Pki, data: bytes, reason: str) -> None:
    async def test() -> None:
        async with Bound(secure(pki)) as bound:
            client = await bound.connect(None)
            client.writer.write(data)
            await quietly(client.reader.read())
            await eventually(lambda: bound.rejected, "the client is refused")
            assert bound.rejected == [(client.address, f"TLS handshake failed: {reason}")]
            assert bound.accepted == []
            await client.close()

    run(test)


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("sent", [b"", b"\x16\x03\x01\x02\x00\x01"])
def test_a_client_that_goes_away(run: Run, pki: Pki, sent: bytes, reset: bool) -> None:
    """A client that has sent nothing is a health check, so nothing has failed."""
    reason = "TLS handshake failed: the client went away"

    async def test() -> None:
        async with Bound(secure(pki)) as bound:
            client = await bound.connect(None)
            client.writer.write(sent)
            await eventually(lambda: len(bound.unauthenticated) == 1, "a handshake begins or ends")
            await eventually(
                lambda: len(bound.unauthenticated._all.speaking) == bool(sent), "it has spoken"
            )
            address = client.address
            if reset:
                linger = struct.pack("ii", 1, 0)
                opened = client.writer.get_extra_info("socket")
                opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            await client.close()
            await eventually(lambda: not len(bound.unauthenticated), "its place is free")
            assert bound.rejected == ([(address, reason)] if sent else [])

    run(test)


def test_a_client_that_says_nothing(run: Run, pki: Pki) -> None:
    async def test() -> None:
        async with Bound(secure(pki), max_seconds=0.1) as bound:
            client = await bound.connect(None)
            assert await client.reader.read() == b""
            await eventually(lambda: bound.rejected, "the client is refused")
            assert bound.rejected == [(client.address, "TLS handshake failed: it took too long")]
            await client.close()

    run(test)


@pytest.mark.parametrize("speaking", [False, True])
def test_the_longest_silent_gives_way(run: Run, pki: Pki, speaking: bool) -> None:
    """Among the clients that have sent nothing, if there is one; and never the newest."""

    async def test() -> None:
        async with Bound(secure(pki), max_connections=2, max_share_per_ip=1.0) as bound:
            first, second = await bound.connect(None), await bound.connect(None)
            await eventually(lambda: len(bound.unauthenticated) == 2, "both are there")
            if speaking:
                first.writer.write(b"\x16")
                await eventually(
                    lambda: len(bound.unauthenticated._all.speaking) == 1, "the first has spoken"
                )
            client = await bound.connect(pki.client())
            assert await client.echo(b"x") == b"x"
            gone = second if speaking else first
            await quietly(gone.reader.read())
            assert bound.rejected == [
                (gone.address, "too many unauthenticated connections: others are waiting")
            ]
            for each in (first, second, client):
                await each.close()

    run(test)


def test_one_address_has_a_share(run: Run, pki: Pki) -> None:
    async def test() -> None:
        async with Bound(secure(pki), max_connections=4) as bound:
            clients = [await bound.connect(None) for _ in range(3)]
            await quietly(clients[0].reader.read())
            assert len(bound.unauthenticated) == 2
            assert [address for address, _ in bound.rejected] == [clients[0].address]
            for each in clients:
                await each.close()

    run(test)


def test_a_stop_ends_handshakes_and_leaves_connections(run: Run, pki: Pki) -> None:
    async def test() -> None:
        async with Bound(secure(pki)) as bound:
            client = await bound.connect(pki.client())
            await client.echo(b"x")
            silent = await bound.connect(None)
            await eventually(lambda: len(bound.unauthenticated) == 1, "a handshake begins or ends")
            bound.listeners.stop()
            await quietly(silent.reader.read())
            assert len(bound.unauthenticated) == 0
            assert await client.echo(b"y") == b"y"
            with pytest.raises(OSError):
                await bound.connect(pki.client())
            assert bound.rejected == []
            await client.close()
            await silent.close()

    run(test)


def test_what_takes_over_fails(run: Run, pki: Pki) -> None:
    async def test() -> None:
        bound = Bound(secure(pki))

        def accept(*_: object) -> Echo:
            raise RuntimeError("a defect")

        bound.listeners = bound.bind(accept)
        async with bound:
            client = await bound.connect(pki.client())
            with pytest.raises((OSError, asyncio.IncompleteReadError)):
                await client.echo(b"x")
            assert bound.rejected == [(client.address, "internal error: RuntimeError")]
            assert isinstance(bound.errors[0], RuntimeError)
            await client.close()

    run(test)
