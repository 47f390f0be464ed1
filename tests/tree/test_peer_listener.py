"""The port for peers, on the loopback address: which peers are let in, and how connections end.

Every test runs on uvloop, as the gateway does, and on asyncio's own event loop.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from cryptography.x509.oid import NameOID

from devkit.certificates import Authority, Credentials, subject
from devkit.ports import free_port
from gateway.audit.audit import Audit
from gateway.audit.event import AuthenticationFailure
from gateway.brokers.security import BrokerSecurity
from gateway.config.models import Config
from gateway.config.security import IncompleteRequests
from gateway.config.tree import Peer
from gateway.connections import waiting_clients
from gateway.connections.closing import NO_PEER, TOO_MANY_OF_PEER, TOO_MUCH_INCOMPLETE
from gateway.connections.incomplete import IncompleteBytes
from gateway.connections.tasks import Tasks
from gateway.counts import Counts
from gateway.referrals.peer_link import PeerLink, PeerUnreachable
from gateway.referrals.questions import Answer, Kind, Outcome, Question
from gateway.tls.handshake import FAILED
from gateway.tree import peer_listener
from gateway.tree.peer_connection import NOT_KAFKA
from gateway.tree.peer_listener import PeerListener
from tests.connections.bound_listener import Run
from tests.tls.tls_pair import trusting
from tests.tree.test_peer_connection import JUNK, asked
from tests.waiting import eventually

QUESTION = Question(Kind.LOCATE, "la", "ny", ("gw-la",), 3, 60.0, "User:alice")
LOG = "gateway.connections.closing"


class Heard(Audit):
    """Keeps the failed authentications."""

    def __init__(self) -> None:
        super().__init__()
        self.failures: list[AuthenticationFailure] = []

    def authentication_failed(
        self,
        listener: str,
        address: str,
        mechanism: str,
        user: str | None,
        reason: str,
        *,
        principal: str = "User:ANONYMOUS",
    ) -> None:
        failure = AuthenticationFailure(listener, address, mechanism, user, reason, principal)
        self.failures.append(failure)


class Site:
    """A gateway ``gw`` with parent ``root`` and child ``deep``, and the files of its peers."""

    def __init__(self, directory: Path) -> None:
        self.authority = Authority(directory / "ours")
        self.foreign = Authority(directory / "theirs", "theirs")
        own = self.authority.peer("gw")
        self.port = free_port()
        self.config = Config.model_validate(
            {
                "gateway_id": "gw",
                "clusters": [
                    {
                        "name": "la",
                        "bootstrap_servers": ["127.0.0.1:1"],
                        "node_ids": ["1"],
                        "mount": "la",
                        "number": 1,
                    }
                ],
                "listeners": [{"name": "clients", "port": 9_000}],
                "tree": {
                    "tls": self.tls(own),
                    "listener": {"port": self.port},
                    "parents": [{"name": "root", "addresses": ["127.0.0.1:1"]}],
                    "children": [
                        {"name": "deep", "mount": "la:deep", "addresses": ["127.0.0.1:1"]},
                        {"name": "deep", "mount": "la:deeper", "addresses": ["127.0.0.1:1"]},
                    ],
                },
            },
            strict=False,
        )
        self.counts, self.audit = Counts(), Heard()
        self.asked: list[tuple[str, Question]] = []
        self.go_on = asyncio.Event()
        self.go_on.set()
        self.peers = PeerListener(
            self.config, self.answer, tasks=Tasks(), counts=self.counts, audit=self.audit
        )

    def tls(self, credentials: Credentials, ca: Authority | None = None) -> dict[str, str]:
        """The TLS settings of a gateway."""
        return {
            "ca": str((ca or self.authority).file),
            "certificate": str(credentials.certificate),
            "key": str(credentials.key),
        }

    async def answer(self, peer: Peer, question: Question) -> Answer:
        """Answer any question, once ``go_on`` is set."""
        self.asked.append((peer.name, question))
        await self.go_on.wait()
        return Answer(Outcome.ANSWERED, mount=question.target, number=2)

    def link(self, name: str) -> PeerLink:
        """The way here from a gateway of this name."""
        tree = self.config.tree
        assert tree is not None
        files = self.tls(self.authority.peer(name))
        tls = tree.tls.model_copy(update={key: Path(file) for key, file in files.items()})
        security = BrokerSecurity(tree.security.model_copy(update={"tls": tls}), key="tree")
        address = f"127.0.0.1:{self.port}"
        here = Peer.model_validate({"name": "gw", "addresses": [address]}, strict=False)
        return PeerLink(here, security)

    async def connect(
        self, context: ssl.SSLContext
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to the port. Raises OSError."""
        return await asyncio.open_connection(
            "127.0.0.1", self.port, ssl=context, server_hostname="localhost"
        )

    def shown(self, credentials: Credentials | None) -> ssl.SSLContext:
        """A client that shows this certificate."""
        if credentials is None:
            return trusting(str(self.authority.file))
        shown = str(credentials.certificate), str(credentials.key)
        return trusting(str(self.authority.file), certificate=shown[0], key=shown[1])

    async def is_turned_away(self, context: ssl.SSLContext, sent: bytes) -> bytes:
        """The bytes that are read until the other side ends the connection."""
        try:
            reader, writer = await self.connect(context)
        except OSError:
            return b""
        try:
            writer.write(sent)
            async with asyncio.timeout(60):
                return await reader.read()
        except OSError:
            return b""
        finally:
            writer.close()

    def closes(self) -> dict[str, int]:
        """The closed connections by reason, since the last call."""
        return {
            str(labels[0]): number
            for family, labels, number in self.counts.take()
            if family == "closes" and isinstance(number, int)
        }


@asynccontextmanager
async def served(directory: Path) -> AsyncIterator[Site]:
    site = Site(directory)
    await site.peers.start()
    try:
        yield site
    finally:
        site.peers.stop()
        await eventually(lambda: not site.peers.open, "connections end")


# -- peers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["root", "deep"])
def test_peers_are_known_by_their_certificates(run: Run, tmp_path: Path, name: str) -> None:
    async def test() -> None:
        async with served(tmp_path) as site:
            link = site.link(name)
            answer = await link.ask(QUESTION)
            assert (answer.outcome, answer.mount, answer.number) == (Outcome.ANSWERED, "ny", 2)
            ((asker, question),) = site.asked
            assert (asker, question.path, question.principal) == (name, ("gw-la",), "User:alice")
            assert site.peers.open == 1
            link.close()
            await eventually(lambda: not site.peers.open, "the connection is gone")
            assert not site.audit.failures

    run(test)


def test_files_are_read_anew(run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with served(tmp_path) as site:
            tree = site.config.tree
            assert tree is not None
            assert tree.tls.certificate is not None
            assert tree.tls.key is not None
            made = site.authority.peer("renewed")
            tree.tls.certificate.write_bytes(made.certificate.read_bytes())
            site.peers.sweep()  # a certificate without its key
            await eventually(
                lambda: "peers keeps the certificates it has: tree.tls." in caplog.text,
                "the files are read",
            )
            tree.tls.key.write_bytes(made.key.read_bytes())
            await asyncio.sleep(0)  # the thread's end has to be seen
            caplog.set_level(logging.INFO)

            def renewed() -> bool:
                site.peers.sweep()
                return "peers uses the TLS files" in caplog.text

            await eventually(renewed, "the files are read again")
            _, writer = await site.connect(site.shown(site.authority.peer("root")))
            found = writer.get_extra_info("peercert")["subject"]
            assert found == ((("commonName", "renewed"),),)
            writer.close()

    run(test)


# -- attacks ---------------------------------------------------------------------------------------


def test_without_a_certificate_nobody_is_let_in(run: Run, tmp_path: Path) -> None:
    async def test() -> None:
        async with served(tmp_path) as site:
            assert await site.is_turned_away(site.shown(None), asked(1)) == b""
            await eventually(lambda: site.audit.failures, "it is audited")
            (failure,) = site.audit.failures
            assert failure.reason.startswith(FAILED)
            assert failure.listener == "peers"
            assert site.closes() == {FAILED: 1}
            assert not site.asked

    run(test)


def test_nor_with_one_of_another_authority(run: Run, tmp_path: Path) -> None:
    async def test() -> None:
        async with served(tmp_path) as site:
            context = site.shown(site.foreign.peer("root"))
            assert await site.is_turned_away(context, asked(1)) == b""
            await eventually(lambda: site.audit.failures, "it is audited")
            assert site.closes() == {FAILED: 1}
            assert not site.asked

    run(test)


STRANGERS: dict[str, Callable[[Authority], Credentials]] = {
    "CN=stranger": lambda authority: authority.peer("stranger"),
    "CN=gw": lambda authority: authority.peer("gw"),
    "CN=ROOT": lambda authority: authority.peer("ROOT"),
    "CN=root,O=Example": lambda authority: authority.client(
        "more", subject((NameOID.ORGANIZATION_NAME, "Example"), (NameOID.COMMON_NAME, "root"))
    ),
    "CN=root\\,CN\\=root": lambda authority: authority.peer("root,CN=root"),
}


@pytest.mark.parametrize("name", STRANGERS)
def test_a_stranger_of_the_right_authority_is_closed_and_logged_once(
    run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    async def test() -> None:
        async with served(tmp_path) as site:
            context = site.shown(STRANGERS[name](site.authority))
            for _ in range(3):
                assert await site.is_turned_away(context, asked(1)) == b""
            await eventually(lambda: not site.peers.open, "all are gone")
            assert site.closes() == {NO_PEER: 3}
            assert len(site.audit.failures) == 3
            assert f"{NO_PEER}: '{name}'" in site.audit.failures[0].reason
            assert not site.asked

    with caplog.at_level(logging.WARNING, LOG):
        run(test)
    (line,) = caplog.messages
    assert line.endswith(f"'{name}'; name it in tree.parents or tree.children")


def test_what_is_no_tls_is_not_heard(run: Run, tmp_path: Path) -> None:
    async def test() -> None:
        async with served(tmp_path) as site:
            for sent in (asked(1), JUNK["another protocol"]):
                reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
                writer.write(sent)
                async with asyncio.timeout(60):
                    data = await reader.read()
                assert not data or data[0] == 0x15, "anything but an alert"
                writer.close()
            await eventually(lambda: len(site.audit.failures) == 2, "they are audited")
            assert not site.asked

    run(test)


@pytest.mark.parametrize("kind", ["a client's Metadata", "2 GiB announced"])
def test_a_peer_that_sends_junk_is_closed_and_may_come_again(
    run: Run, tmp_path: Path, kind: str
) -> None:
    async def test() -> None:
        async with served(tmp_path) as site:
            context = site.shown(site.authority.peer("root"))
            assert await site.is_turned_away(context, JUNK[kind] + asked(2)) == b""
            await eventually(lambda: not site.peers.open, "it is gone")
            assert site.closes() == {NOT_KAFKA: 1}
            assert not site.asked
            link = site.link("root")
            assert (await link.ask(QUESTION)).outcome is Outcome.ANSWERED
            link.close()

    run(test)


def test_half_sent_requests_of_peers_have_one_budget(run: Run, tmp_path: Path) -> None:
    async def test() -> None:
        async with served(tmp_path) as site:
            limits = IncompleteRequests(max_bytes=2**20, max_bytes_per_ip=2**20)
            incomplete = site.peers._incomplete = IncompleteBytes(limits, 1)
            context = site.shown(site.authority.peer("root"))
            begun = (4 * 2**20).to_bytes(4, "big") + bytes(400_000)
            opened = []
            for _ in range(3):
                _, writer = await site.connect(context)
                writer.write(begun)
                opened.append(writer)
            assert await eventually(site.closes, "one is closed") == {TOO_MUCH_INCOMPLETE: 1}
            assert incomplete.total <= 2**20
            for writer in opened:
                writer.close()

    run(test)


def test_one_peer_leaves_room_for_others(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peer_listener, "MAX_OF_ONE", 2)

    async def test() -> None:
        async with served(tmp_path) as site:
            context = site.shown(site.authority.peer("root"))
            writers = [(await site.connect(context))[1] for _ in range(2)]
            assert await site.is_turned_away(context, asked(1)) == b""
            assert site.closes() == {TOO_MANY_OF_PEER: 1}
            link = site.link("deep")
            assert (await link.ask(QUESTION)).outcome is Outcome.ANSWERED
            link.close()
            for writer in writers:
                writer.close()

    run(test)


def test_a_silent_peer_is_closed(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        async with served(tmp_path) as site:
            reader, writer = await site.connect(site.shown(site.authority.peer("root")))
            await eventually(lambda: site.peers.open, "it is in")
            site.peers.sweep()
            assert site.peers.open
            monkeypatch.setattr(waiting_clients, "SILENT_SECONDS", 0.0)
            site.peers.sweep()
            async with asyncio.timeout(60):
                assert await reader.read() == b""
            writer.close()

    run(test)


# -- the end ---------------------------------------------------------------------------------------


def test_a_stop_gives_questions_up(run: Run, tmp_path: Path) -> None:
    async def test() -> None:
        async with served(tmp_path) as site:
            site.go_on.clear()
            link = site.link("root")
            asking = asyncio.create_task(link.ask(QUESTION))
            await eventually(lambda: site.asked, "it is asked")
            site.peers.stop()
            with pytest.raises(PeerUnreachable) as raised:
                await asking
            assert raised.value.sent
            with pytest.raises(OSError):
                await asyncio.open_connection("127.0.0.1", site.port)
            link.close()

    run(test)


def test_a_drain_answers_what_is_under_way(run: Run, tmp_path: Path) -> None:
    async def test() -> None:
        async with served(tmp_path) as site:
            site.go_on.clear()
            link, idle = site.link("root"), site.link("deep")
            site.go_on.set()
            await idle.ask(QUESTION)
            site.go_on.clear()
            asking = asyncio.create_task(link.ask(QUESTION))
            await eventually(lambda: len(site.asked) == 2, "it is asked")
            drain = asyncio.create_task(site.peers.drain(60))
            await eventually(lambda: site.peers.open == 1, "the idle one is closed")
            site.go_on.set()
            assert (await asking).outcome is Outcome.ANSWERED
            await drain
            assert not site.peers.open
            link.close()
            idle.close()

    run(test)


def test_a_drain_ends(run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with served(tmp_path) as site:
            site.go_on.clear()
            link = site.link("root")
            asking = asyncio.create_task(link.ask(QUESTION))
            await eventually(lambda: site.asked, "it is asked")
            await site.peers.drain(0.1)
            site.peers.stop()
            with pytest.raises(PeerUnreachable):
                await asking
            link.close()

    run(test)
    assert "1 questions of peers were not answered in time" in caplog.text
