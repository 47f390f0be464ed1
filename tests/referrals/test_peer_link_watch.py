"""gateway.referrals.peer_link: questions that are cancelled, and peers that come and go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import pytest

from devkit.certificates import Authority
from gateway.brokers.security import BrokerSecurity
from gateway.referrals import peer_link
from gateway.referrals.peer_link import PATIENCE, PeerLink
from tests.referrals.memory_links import answer_to
from tests.referrals.scripted_peer import (
    ANSWERS,
    ASKED,
    ScriptedPeer,
    peer_of,
    unreachable,
)
from tests.waiting import eventually

pytestmark = pytest.mark.asyncio


@asynccontextmanager
async def watched(link: PeerLink) -> AsyncIterator[None]:
    watch = asyncio.ensure_future(link.watch())
    try:
        yield
    finally:
        watch.cancel()
        with suppress(asyncio.CancelledError):
            await watch


class TestCancelling:
    async def test_an_answer_that_comes_late_keeps_the_connection(
        self, peer: ScriptedPeer, security: BrokerSecurity
    ) -> None:
        link = PeerLink(peer_of(peer), security, most=1)
        peer.may_answer.clear()
        ask = asyncio.ensure_future(link.ask(ASKED))
        await eventually(lambda: peer.questions, "the question arrived")
        ask.cancel()
        following = asyncio.ensure_future(link.ask(replace(ASKED, target="sf")))
        peer.may_answer.set()
        assert (await following).mount == "sf"
        assert ask.cancelled()
        assert peer.accepted == 1
        link.close()

    async def test_one_that_does_not_come_says_that_the_peer_is_down(
        self, peer: ScriptedPeer, link: PeerLink
    ) -> None:
        peer.reply = lambda *_: None
        ask = asyncio.ensure_future(link.ask(replace(ASKED, seconds=2.0)))
        await eventually(lambda: peer.questions, "the question arrived")
        ask.cancel()
        await eventually(lambda: not link.up, "the peer counts as down")
        await eventually(lambda: not peer.open, "the connection is closed")

    async def test_what_was_not_sent_is_never_sent(
        self, peer: ScriptedPeer, link: PeerLink
    ) -> None:
        ask = asyncio.ensure_future(link.ask(replace(ASKED, target="sf")))
        await asyncio.sleep(0)
        ask.cancel()
        await eventually(lambda: peer.accepted, "it is connected all the same")
        assert await link.ask(ASKED) == answer_to(ASKED)
        assert [asked.target for asked in peer.questions] == [ASKED.target]

    async def test_a_turn_that_was_waited_for_is_not_lost(
        self, peer: ScriptedPeer, security: BrokerSecurity
    ) -> None:
        link = PeerLink(peer_of(peer), security, most=1)
        peer.may_answer.clear()
        asks = [asyncio.ensure_future(link.ask(ASKED)) for _ in range(4)]
        await eventually(lambda: peer.questions, "a question under way")
        for ask in asks[1:]:
            ask.cancel()
        peer.may_answer.set()
        await asks[0]
        assert await link.ask(ASKED) == answer_to(ASKED)
        assert len(peer.questions) == 2
        link.close()


class TestWatching:
    @pytest.fixture(autouse=True)
    def _often(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(peer_link, "PROBE_EVERY", 0.02)

    async def test_it_is_down_once_it_ends_and_up_once_it_is_back(
        self, peer: ScriptedPeer, link: PeerLink
    ) -> None:
        async with watched(link):
            await eventually(lambda: peer.open, "it is connected")
            for _ in range(2):
                await peer.stop()
                await eventually(lambda: not link.up, "its end is noticed")
                await peer.start()
                await eventually(lambda: link.up, "it is found again")
            assert await link.ask(ASKED) == answer_to(ASKED)
        await eventually(lambda: peer.open <= 1, "its own connection is closed")

    async def test_another_address_keeps_it_up(
        self, ca: Authority, peer: ScriptedPeer, security: BrokerSecurity
    ) -> None:
        async with ScriptedPeer(ca, "root", ANSWERS) as other:
            link = PeerLink(peer_of(peer, other), security)
            async with watched(link):
                await eventually(lambda: peer.open, "it is connected")
                await peer.stop()
                await eventually(lambda: other.open, "the other one is")
                assert link.up
            link.close()

    async def test_one_that_is_busy_with_a_question_is_not_down(
        self, peer: ScriptedPeer, link: PeerLink, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Others' questions go on, because it responds to all other requests."""
        answers = []
        answer = peer._api_versions

        def note() -> bytes:
            answers.append(answer())
            return answers[-1]

        async with watched(link):
            await eventually(lambda: peer.open, "it is connected")
            peer.reply = lambda *_: None
            monkeypatch.setattr(peer, "_api_versions", note)
            await unreachable(link, replace(ASKED, seconds=2 * PATIENCE))
            assert link.up
            # One is of the question's own connection, the other is of a ping.
            await eventually(lambda: len(answers) == 2, "it is pinged")
            peer.reply = ANSWERS
            assert await link.ask(ASKED) == answer_to(ASKED)
            assert link.up

    async def test_one_that_answers_nothing_at_all_is_down(
        self, peer: ScriptedPeer, link: PeerLink, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with watched(link):
            await eventually(lambda: peer.open, "it is connected")
            peer.reply = lambda *_: None
            monkeypatch.setattr(peer, "_api_versions", lambda: b"")
            await unreachable(link, replace(ASKED, seconds=2 * PATIENCE))
            await eventually(lambda: not link.up, "its silence is noticed")

    async def test_one_that_hung_is_found_again(self, peer: ScriptedPeer, link: PeerLink) -> None:
        async with watched(link):
            await eventually(lambda: peer.open, "it is connected")
            peer.reply = lambda *_: None
            await unreachable(link, replace(ASKED, seconds=2 * PATIENCE))
            peer.reply = ANSWERS
            await eventually(lambda: link.up, "it is found again")
            assert await link.ask(ASKED) == answer_to(ASKED)

    async def test_an_idle_connection_is_tried_now_and_then(
        self, peer: ScriptedPeer, link: PeerLink, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(peer_link, "PING_EVERY", 0.01)
        monkeypatch.setattr(peer_link, "PROBE_SECONDS", 1.0)
        pinged = 0
        answer = peer._api_versions

        def count() -> bytes:
            nonlocal pinged
            pinged += 1
            return answer()

        monkeypatch.setattr(peer, "_api_versions", count)
        async with watched(link):
            await eventually(lambda: pinged >= 3, "pings")
            assert (peer.accepted, link.up) == (1, True)
            monkeypatch.setattr(peer, "_api_versions", lambda: b"")
            await eventually(lambda: not link.up, "its answers make no sense")
