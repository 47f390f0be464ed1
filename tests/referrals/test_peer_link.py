"""gateway.referrals.peer_link and peer_wire: a peer of this process, over TLS."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import replace

import pytest

from devkit.certificates import Authority
from devkit.ports import free_port
from gateway.brokers.security import BrokerSecurity
from gateway.config.addresses import Address
from gateway.referrals.envelope import response_body
from gateway.referrals.peer_link import PATIENCE, PeerLink
from gateway.referrals.questions import Answer
from protocol.headers import frame, response_header
from tests.referrals.memory_links import answer_to
from tests.referrals.scripted_peer import (
    ANSWERS,
    ASKED,
    HOST,
    LONG,
    Reply,
    ScriptedPeer,
    answering,
    peer_at,
    peer_of,
    unreachable,
)
from tests.waiting import eventually

pytestmark = pytest.mark.asyncio


class TestAsking:
    async def test_a_question_arrives_and_its_answer_comes_back(
        self, peer: ScriptedPeer, link: PeerLink
    ) -> None:
        assert await link.ask(ASKED) == answer_to(ASKED)
        (arrived,) = peer.questions
        assert arrived == replace(ASKED, seconds=arrived.seconds)
        assert 0 < arrived.seconds <= LONG
        assert link.up

    async def test_connections_are_kept(self, peer: ScriptedPeer, link: PeerLink) -> None:
        for _ in range(3):
            await link.ask(ASKED)
        assert peer.accepted == 1
        await asyncio.gather(*(link.ask(ASKED) for _ in range(20)))
        assert 2 <= peer.accepted <= 8
        assert len(peer.questions) == 23

    async def test_so_many_at_once_wait_and_no_more(
        self, peer: ScriptedPeer, security: BrokerSecurity
    ) -> None:
        link = PeerLink(peer_of(peer), security, most=2, queue=3)
        peer.may_answer.clear()
        asks = [asyncio.ensure_future(link.ask(ASKED)) for _ in range(5)]
        await eventually(lambda: len(peer.questions) == 2, "two questions under way")
        error = await unreachable(link)
        assert str(error) == "Too many questions wait for gateway 'root'; try again later."
        assert not error.sent
        assert link.up
        peer.may_answer.set()
        await asyncio.gather(*asks)
        assert peer.accepted == 2
        link.close()

    async def test_one_that_waits_in_vain_for_its_turn(
        self, peer: ScriptedPeer, security: BrokerSecurity
    ) -> None:
        link = PeerLink(peer_of(peer), security, most=1)
        peer.may_answer.clear()
        first = asyncio.ensure_future(link.ask(ASKED))
        await eventually(lambda: peer.questions, "a question under way")
        error = await unreachable(link, replace(ASKED, seconds=0.05))
        assert not error.sent
        assert link.up
        peer.may_answer.set()
        await first
        await link.ask(ASKED)
        link.close()

    async def test_a_question_that_cannot_be_written(self, link: PeerLink) -> None:
        error = await unreachable(link, replace(ASKED, principal="nobody"))
        assert "cannot be asked this: An envelope between gateways has principal" in str(error)
        assert not error.sent
        assert await link.ask(ASKED) == answer_to(ASKED)

    async def test_all_addresses_are_tried_and_the_one_that_works_kept(
        self, ca: Authority, peer: ScriptedPeer, security: BrokerSecurity
    ) -> None:
        async with ScriptedPeer(ca, "root", ANSWERS) as other:
            link = PeerLink(peer_of(other, peer), security)
            await link.ask(ASKED)
            assert (other.accepted, peer.accepted) == (1, 0)
            await other.stop()
            await link.ask(ASKED)
            assert (other.accepted, peer.accepted) == (1, 1)
            await other.start()
            await asyncio.gather(link.ask(ASKED), link.ask(ASKED))
            assert (other.accepted, peer.accepted) == (1, 2)
            link.close()

    async def test_an_address_that_says_nothing_leaves_time_for_the_next(
        self, peer: ScriptedPeer, security: BrokerSecurity
    ) -> None:
        with socket.create_server((HOST, 0)) as silent:
            silent_address = Address(HOST, silent.getsockname()[1])
            link = PeerLink(peer_at(silent_address, peer.address), security)
            assert await link.ask(replace(ASKED, seconds=4.0)) == answer_to(ASKED)
            link.close()


class TestFailing:
    async def test_a_peer_that_is_not_there(self, security: BrokerSecurity) -> None:
        port = free_port()
        link = PeerLink(peer_at(Address(HOST, port)), security)
        assert link.up
        for _ in range(2):
            error = await unreachable(link)
            assert str(error) == "Gateway 'root' does not respond; try again later."
            assert error.reason.startswith(f"{HOST}:{port}: cannot connect: Connection refused")
            assert not error.sent
            assert not link.up

    async def test_a_connection_that_is_lost_says_nothing_of_the_peer(
        self, peer: ScriptedPeer, link: PeerLink
    ) -> None:
        peer.reply = lambda *_: b""
        error = await unreachable(link)
        assert error.sent
        assert error.reason == "closed the connection instead of answering a question"
        assert link.up
        peer.reply = ANSWERS
        assert await link.ask(ASKED) == answer_to(ASKED)
        assert peer.accepted == 2

    async def test_a_connection_that_ends_while_idle_is_not_used(
        self, peer: ScriptedPeer, link: PeerLink
    ) -> None:
        await link.ask(ASKED)
        await peer.stop()
        await peer.start()
        assert await link.ask(ASKED) == answer_to(ASKED)
        assert peer.accepted == 2

    @pytest.mark.parametrize(
        "reply",
        [
            lambda number, _: frame(response_header(number, 1), b"\xff" * 40),
            lambda number, asked: frame(
                response_header(number + 1, 1), response_body(answer_to(asked))
            ),
            lambda *_: b"\x7f\xff\xff\xff",
            lambda *_: b"\x00\x00\x00\x02ab",
        ],
    )
    async def test_an_answer_that_makes_no_sense(
        self, peer: ScriptedPeer, link: PeerLink, reply: Reply
    ) -> None:
        peer.reply = reply
        error = await unreachable(link)
        assert error.sent
        assert "makes no sense" in error.reason
        await eventually(lambda: not peer.open, "the connection is closed")
        peer.reply = ANSWERS
        assert await link.ask(ASKED) == answer_to(ASKED)

    async def test_a_peer_that_hangs_is_down(self, peer: ScriptedPeer, link: PeerLink) -> None:
        await link.ask(ASKED)  # a connection's first handshake takes most of the patience
        peer.reply = lambda *_: None
        error = await unreachable(link, replace(ASKED, seconds=2 * PATIENCE))
        assert error.sent
        assert error.reason.startswith("no answer within ")
        assert not link.up
        assert not (await unreachable(link)).sent
        await eventually(lambda: not peer.open, "the connection is closed")

    async def test_one_that_answers_others_meanwhile_is_not(
        self, peer: ScriptedPeer, link: PeerLink
    ) -> None:
        await asyncio.gather(link.ask(ASKED), link.ask(ASKED))  # two connections, as above
        peer.reply = lambda number, asked: (
            None if asked.target == "slow" else ANSWERS(number, asked)
        )
        slow = replace(ASKED, target="slow", seconds=4 * PATIENCE)
        waiting = asyncio.ensure_future(unreachable(link, slow))
        await eventually(
            lambda: any(each.target == "slow" for each in peer.questions), "a question under way"
        )
        while not waiting.done():
            await link.ask(ASKED)
        assert (await waiting).sent
        assert link.up

    async def test_a_question_with_little_time_says_nothing_of_the_peer(
        self, peer: ScriptedPeer, link: PeerLink
    ) -> None:
        await link.ask(ASKED)
        peer.reply = lambda *_: None
        await unreachable(link, replace(ASKED, seconds=0.02))
        await unreachable(link, replace(ASKED, seconds=0.0))
        assert link.up

    async def test_a_certificate_of_somebody_else(
        self, ca: Authority, peer: ScriptedPeer, security: BrokerSecurity
    ) -> None:
        link = PeerLink(peer_of(peer, name="la"), security)
        error = await unreachable(link)
        assert "its certificate is that of 'CN=root', not that of 'CN=la'" in error.reason
        assert not error.sent
        assert not peer.questions
        await eventually(lambda: not peer.open, "the connection is closed")

    async def test_without_tls_nobody_is_the_peer(self) -> None:
        async with ScriptedPeer(None, "root", ANSWERS) as plain:
            link = PeerLink(peer_of(plain), BrokerSecurity())
            assert "its certificate is nobody's" in (await unreachable(link)).reason
            assert not plain.questions

    async def test_something_that_is_no_gateway(self, peer: ScriptedPeer, link: PeerLink) -> None:
        del peer.serves[58]
        assert "speaks no version of EnvelopeRequest" in (await unreachable(link)).reason

    async def test_after_the_end(self, peer: ScriptedPeer, link: PeerLink) -> None:
        await link.ask(ASKED)
        peer.reply = lambda *_: None
        waiting = asyncio.ensure_future(unreachable(link))
        await eventually(lambda: len(peer.questions) == 2, "a question under way")
        link.close()
        assert (await waiting).reason == "closed"
        assert (await unreachable(link)).reason == "closed"
        await eventually(lambda: not peer.open, "all connections are closed")


async def test_answers_belong_to_their_questions(peer: ScriptedPeer, link: PeerLink) -> None:
    peer.reply = answering(lambda asked: Answer(answer_to(asked).outcome, mount=asked.target))
    targets = [f"la:t{number}" for number in range(100)]
    asks = (link.ask(replace(ASKED, target=target)) for target in targets)
    assert [answer.mount for answer in await asyncio.gather(*asks)] == targets
