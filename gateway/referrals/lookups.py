"""Lookups: questions that only other gateways can answer, sent to the peers that may know.

A question that changes nothing is sent to several peers, and the first answer that is believed
counts. A question that changes something is sent to a single peer, once. The gateway remembers
which peer has a path, and which paths have no owner. Identical lookups share an answer.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import Final, NamedTuple

from gateway.counts import Counts
from gateway.referrals.believing import Inner, Lie, inner_of, lie_of, passed_back
from gateway.referrals.lies import LOOKUPS, Lies
from gateway.referrals.locations import NOBODY, Location, Locations
from gateway.referrals.numbers import Numbers
from gateway.referrals.peer_link import PeerLink, PeerUnreachable
from gateway.referrals.questions import MAX_HOPS, Answer, Hop, Kind, Outcome, Question
from gateway.referrals.racing import MARGIN, Race, best
from gateway.referrals.routing import Routes, Ways
from gateway.slices import Slices, Turns, in_slices
from protocol.errors import ProtocolError

MAX_OWN: Final = 1_000
"""Questions of this gateway's own clients that may be in progress at once."""

MAX_OF_PEER: Final = 64
"""Questions of one peer that may be in progress at once: far fewer than a link lets wait, so that a
peer that floods this gateway leaves room for its own clients and for other peers."""

LONG: Final = 32 * 1024
"""Bytes of a response that is checked in slices."""

_GONE: Final = (Outcome.UNREACHABLE, Outcome.NO_SUCH_MOUNT)
_MAYBE_DONE: Final = (
    "The change may or may not have been made; look whether it was before you try it again."
)

_Key = tuple[Question, str | None]
_Found = tuple[Answer, bool]
"""An answer, and whether the gateway remembered the peer to ask, or that the path has no owner."""


class _Lookup(NamedTuple):
    """A question with its state: the head of its request, the peers that may answer it, the peer
    that is remembered to have the path, the peer that it came from, and its deadline (the loop's
    time)."""

    question: Question
    inner: Inner | None
    ways: Ways
    first: str | None
    came_from: str | None
    deadline: float


class Lookups:
    """Asks peers on behalf of this gateway's clients and of other peers. Belongs to one loop."""

    def __init__(
        self,
        gateway_id: str,
        routes: Routes,
        links: Mapping[str, PeerLink],
        *,
        locations: Locations,
        numbers: Numbers,
        max_hops: int,
        counts: Counts | None = None,
        turns: Turns | None = None,
    ) -> None:
        """``links`` has every peer of ``routes`` by its name. ``counts`` gets the family
        "tree_lookups" with labels peer and outcome ("lied": not believed; "number_conflict": not
        believed, because two mounts have the same number), and "tree_number_conflicts" with that
        number and both mounts. Long answers are checked in ``turns``; a tool has none, because it
        serves no other clients."""
        self._id = gateway_id
        self._routes = routes
        self._links = links
        self._locations = locations
        self._numbers = numbers
        self._max_hops = max_hops
        self._counts = counts
        self._lies = Lies(counts)
        self._turns = turns
        self._shared: dict[_Key, asyncio.Task[_Found]] = {}
        self._under_way: Counter[str | None] = Counter()

    @property
    def under_way(self) -> int:
        """Questions that wait for an answer."""
        return self._under_way.total()

    @property
    def shared(self) -> int:
        """Lookups in progress that questions wait for; several questions may share a lookup."""
        return len(self._shared)

    async def ask(
        self, question: Question, *, came_from: str | None = None, changes: bool = False
    ) -> Answer:
        """The answer to a question about another gateway's path, within the question's seconds.

        ``question`` is as it arrived, from the peer ``came_from`` or from a client (None). With
        ``changes`` it is sent to a single peer, once. Failures of peers raise nothing.
        """
        began = monotonic()  # the loop's time stands still in a turn, and is one in milliseconds
        deadline = asyncio.get_running_loop().time() + question.seconds
        under_way = self._under_way
        under_way[came_from] += 1
        try:
            answer, known = await self._find(question, came_from, changes, deadline)
        finally:
            under_way[came_from] -= 1
            if not under_way[came_from]:
                del under_way[came_from]
        micros = round((monotonic() - began) * 1e6)
        return answer.by_way_of(Hop(self._id, micros, known))

    async def _find(
        self, question: Question, came_from: str | None, changes: bool, deadline: float
    ) -> _Found:
        rejected = self._rejection(question)
        if rejected:
            return Answer(Outcome.REJECTED, rejected), False
        try:
            inner = inner_of(question)
        except ProtocolError as error:
            return Answer(Outcome.REJECTED, f"The request cannot be read: {error}."), False
        ways = self._routes.of(question.target, came_from)
        assert isinstance(ways, Ways), f"{question.target} is an own path"
        if not ways.peers:
            return _no_such_mount(question), False
        location = self._remembered(question)
        if location is NOBODY:
            return _no_such_mount(question), True
        if self._under_way[came_from] > (MAX_OWN if came_from is None else MAX_OF_PEER):
            text = "Too many lookups in other gateways are under way; try again later."
            return Answer(Outcome.UNREACHABLE, text), False
        first = location.peer if location and location.peer in ways.peers else None
        question = replace(question, hops=min(question.hops, self._max_hops, MAX_HOPS))
        lookup = _Lookup(question, inner, ways, first, came_from, deadline)
        return await (self._ask_one(lookup) if changes else self._ask_shared(lookup))

    def _rejection(self, question: Question) -> str:
        if self._id in question.path:
            circle = " > ".join((*question.path, self._id))
            return (
                f"Gateways ask each other for ':{question.target}' in a circle: {circle}."
                " Correct their tree.parents and tree.children."
            )
        if question.hops <= 0:
            passed = " > ".join((*question.path, self._id))
            return (
                f"A question for ':{question.target}' may pass no more gateways: {passed}."
                " Raise tree.max_hops of the first one."
            )
        return ""

    # -- what is remembered ------------------------------------------------------------------------

    def _remembered(self, question: Question) -> Location | None:
        found = self._locations.find(question.target)
        if question.kind is Kind.REQUEST or (found is not None and found is not NOBODY):
            return found
        return self._locations.find(_nobody_key(question))

    def _note(self, lookup: _Lookup, peer: str, answer: Answer) -> None:
        """Remember, or forget, the location that a peer's answer reports."""
        target = lookup.question.target
        if answer.outcome is Outcome.ANSWERED:
            self._locations.note(target, Location(answer.mount, answer.number, peer))
        elif peer == lookup.first and answer.outcome in _GONE:
            self._locations.forget(target)

    # -- asking ------------------------------------------------------------------------------------

    async def _ask_shared(self, lookup: _Lookup) -> _Found:
        """Equal questions wait for a single race, each no longer than its own time allows."""
        question, inner = lookup.question, lookup.inner
        key = _key(question, lookup.came_from)
        shared = self._shared.get(key)
        if shared is None:
            shared = self._shared[key] = asyncio.create_task(self._race(lookup))
            shared.add_done_callback(lambda _: self._shared.pop(key))
        try:
            async with asyncio.timeout_at(lookup.deadline):
                answer, known = await asyncio.shield(shared)
        except TimeoutError:
            return _unanswered(question), False
        if inner is not None and answer.response:
            answer = replace(answer, response=inner.correlated(answer.response))
        return answer, known

    async def _race(self, lookup: _Lookup) -> _Found:
        def in_order(peer: str) -> tuple[bool, bool]:
            return peer != lookup.first, not self._links[peer].up

        async def ask(peer: str) -> Answer:
            return await self._ask_peer(lookup, peer, changes=False)

        # All at once for an own client. If gateways on the way did so, too, questions would double
        # at each gateway with two parents.
        at_once = lookup.first is None and lookup.came_from is None
        peers = sorted(lookup.ways.peers, key=in_order)
        race = Race(peers, ask, at_once=at_once, ends=lookup.deadline - MARGIN / 2)
        winner = await race.run()
        failures = race.failures
        if winner is None:
            failures = {**failures, **{peer: self._late(peer) for peer in race.late}}
        for peer, failure in failures.items():
            self._note(lookup, peer, failure)
        if winner is not None:
            self._note(lookup, winner.peer, winner.answer)
            return winner.answer, winner.peer == lookup.first
        outcomes = {failure.outcome for failure in failures.values()}
        everybody = self._routes.of(lookup.question.target) == lookup.ways
        if outcomes == {Outcome.NO_SUCH_MOUNT} and everybody:
            self._locations.note_nobody(_nobody_key(lookup.question))
        return best(list(failures.values())), False

    async def _ask_one(self, lookup: _Lookup) -> _Found:
        """Ask a single peer, once: the peer that has the path, else a peer that responds."""
        peers = lookup.ways.peers
        peer = lookup.first or next((each for each in peers if self._links[each].up), peers[0])
        try:
            async with asyncio.timeout_at(lookup.deadline - MARGIN / 2):
                answer = await self._ask_peer(lookup, peer, changes=True)
        except TimeoutError:
            late = self._late(peer)
            answer = replace(late, text=f"{late.text} {_MAYBE_DONE}")
        self._note(lookup, peer, answer)
        return answer, lookup.first is not None

    async def _ask_peer(self, lookup: _Lookup, peer: str, *, changes: bool) -> Answer:
        """A peer's answer if it is believed; else UNREACHABLE."""
        maybe_done = f" {_MAYBE_DONE}" if changes else ""
        try:
            answer = await self._ask_link(lookup, self._links[peer], changes)
        except PeerUnreachable as error:
            text = f"{error}{maybe_done if error.sent else ''}"
            answer = Answer(Outcome.UNREACHABLE, text)
        else:
            lie = await self._lie_of(peer, lookup, answer)
            if lie is not None:
                self._lies.note(peer, answer, lie)
                return Answer(Outcome.UNREACHABLE, f"{lie.text}{maybe_done}")
        self._count(peer, answer.outcome.name.lower())
        return passed_back(peer, answer)

    async def _lie_of(self, peer: str, lookup: _Lookup, answer: Answer) -> Lie | None:
        question, routes, numbers = lookup.question, self._routes, self._numbers
        look = partial(lie_of, peer, question, lookup.inner, answer, routes, numbers)
        if self._turns is None or len(answer.response) < LONG:
            return look()
        return await in_slices(self._turns, Slices(look))

    def disbelieve(self, path: str, text: str) -> None:
        """Note that the asker does not believe the last answer for a path, with the reason."""
        location = self._locations.find(path)
        if location is not None and location is not NOBODY:
            self._lies.note(location.peer, Answer(Outcome.ANSWERED), Lie(text))

    async def _ask_link(self, lookup: _Lookup, link: PeerLink, changes: bool) -> Answer:
        """Ask a link. If the connection is lost, ask once more, because a peer may be several
        gateways, and another may answer."""
        try:
            return await link.ask(self._passed_on(lookup))
        except PeerUnreachable as error:
            now = asyncio.get_running_loop().time()
            if changes or not error.sent or not link.up or now >= lookup.deadline - MARGIN:
                raise
        return await link.ask(self._passed_on(lookup))

    def _passed_on(self, lookup: _Lookup) -> Question:
        """The question as the next gateway gets it, with a little less time than is left."""
        question = lookup.question
        left = lookup.deadline - asyncio.get_running_loop().time() - MARGIN
        return question.passed_on(self._id, max(left, 0.001), question.principal)

    def _late(self, peer: str) -> Answer:
        self._count(peer, Outcome.UNREACHABLE.name.lower())
        return Answer(Outcome.UNREACHABLE, f"Gateway '{peer}' does not respond in time.")

    def _count(self, peer: str, outcome: str) -> None:
        if self._counts is not None:
            self._counts.add(LOOKUPS, (peer, outcome), 1)


def _key(question: Question, came_from: str | None) -> _Key:
    """The key of questions that may share an answer: everything but the time that is left and the
    request's correlation id."""
    request = question.request
    same = replace(question, seconds=0.0, request=request[:4] + request[8:])
    return same, came_from


def _nobody_key(question: Question) -> str:
    """The key under which it is remembered that a target has no owner. A request's target must be a
    mount, so a request's key says nothing about the path. (No path begins with a colon.)"""
    return question.target if question.kind is Kind.REQUEST else f":{question.target}"


def _no_such_mount(question: Question) -> Answer:
    return Answer(Outcome.NO_SUCH_MOUNT, f"No cluster is mounted at ':{question.target}'.")


def _unanswered(question: Question) -> Answer:
    text = f"No gateway that may know ':{question.target}' responds in time; try again later."
    return Answer(Outcome.UNREACHABLE, text)
