"""Frames that are almost right, for every decided API and version, in both directions.

Whatever arrives, a session raises ProtocolError or goes on, and the bytes it writes to the client
have nothing of another namespace and no address.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.acls.standard import StandardAuthorizer
from protocol.errors import ProtocolError
from tests.examples import examples
from tests.session import samples
from tests.session.mutating import MUTATED, QUICK, pieces
from tests.session.mutations import Mutation, mutated
from tests.session.pair import Pair, request_frame, response_frame, topic_id

OWN = "team-a..orders"
FOREIGN = "team-b..secret"
CASES = [pytest.param(*case, id=f"{case[0]}-v{case[1]}") for case in samples.decided()]
ANSWERED_HERE = [
    pytest.param(*case, id=f"{case[0]}-v{case[1]}") for case in samples.decided(here=True)
]


def checked(pair: Pair) -> None:
    """Assert that the bytes to the client so far have nothing that it must not see."""
    seen = pair.to_client()
    assert FOREIGN.encode() not in seen
    assert samples.BROKER_HOST.encode() not in seen


def fuzzed(**settings: Any) -> Pair:
    """A session whose broker may say anything, such as that a group's members have opaque bytes."""
    pair = Pair(**settings)
    pair.scan.has_names = False
    return pair


def opaque(api: str, version: int, flat: str, number: int, prefix: str) -> Any:
    """A response whose texts and embedded bytes have nothing foreign, because a mutation of these
    could as well come from another client or a broker (see test_leaks.py)."""
    return samples.response(
        api, version, flat, topic_id(number), prefix, members_topic=OWN, text="an error text"
    )


CUT = st.floats(0, 1)


@pytest.mark.parametrize(("api", "version"), CASES)
@QUICK
@given(mutate=MUTATED, cut=CUT)
def test_requests(api: str, version: int, mutate: list[Mutation], cut: float) -> None:
    pair = fuzzed(home="team-a", topics=[OWN, FOREIGN])
    frame = request_frame(api, version, samples.request(api, version, "orders", topic_id(1)))
    with suppress(ProtocolError):
        for piece in pieces(mutated(frame, mutate), [cut]):
            pair.send(piece)
    checked(pair)


@pytest.mark.parametrize(("api", "version"), ANSWERED_HERE)
@QUICK
@given(mutate=MUTATED, cut=CUT, home=st.sampled_from(["", "team-a"]))
def test_what_is_answered_here(
    api: str, version: int, mutate: list[Mutation], cut: float, home: str
) -> None:
    authorizer = StandardAuthorizer()
    authorizer.configure({"super.users": ("User:alice",)}, lambda: None)
    pair = fuzzed(home=home, authorizer=authorizer)
    frame = request_frame(api, version, samples.request(api, version, "orders", topic_id(1)))
    with suppress(ProtocolError):
        for piece in pieces(mutated(frame, mutate), [cut]):
            pair.send(piece)
    checked(pair)
    assert pair.to_broker() == b""


@pytest.mark.parametrize(("api", "version"), CASES)
@QUICK
@given(mutate=MUTATED, cut=CUT, foreign=st.booleans())
def test_responses(
    api: str, version: int, mutate: list[Mutation], cut: float, foreign: bool
) -> None:
    made_here = api in samples.MADE_HERE | samples.NOT_UNDER_A_HOME
    home, own = ("", samples.PLAIN) if made_here else ("team-a", OWN)
    pair = fuzzed(home=home, topics=[own, FOREIGN])
    asked = samples.request(api, version, samples.forwarded(api, "orders"), topic_id(1))
    pair.send(request_frame(api, version, asked))
    sent_as = int.from_bytes(pair.to_broker()[6:8], "big")
    flat, number = (FOREIGN, 2) if foreign else (own, 1)
    reply = opaque(api, sent_as, flat, number, "team-a..")
    frame = response_frame(api, sent_as, reply)
    with suppress(ProtocolError):
        for piece in pieces(mutated(frame, mutate), [cut]):
            pair.session.broker_data(piece)
    checked(pair)


@pytest.mark.parametrize(("api", "version"), CASES)
@QUICK
@given(mutate=MUTATED)
def test_partial_answers(api: str, version: int, mutate: list[Mutation]) -> None:
    """The same as above on a legal listener, with a name that is denied."""
    pair = fuzzed(spelling="legal", topics=[OWN, FOREIGN])
    asked = samples.request(api, version, "nowhere:x", topic_id(9), acks=-1)
    with suppress(ProtocolError):
        pair.send(mutated(request_frame(api, version, asked), mutate))
        reply = opaque(api, version, OWN, 1, "")
        pair.session.broker_data(mutated(response_frame(api, version, reply), mutate))
    assert samples.BROKER_HOST.encode() not in pair.to_client()


@given(data=st.binary(max_size=200), cut=CUT)
@settings(QUICK, max_examples=examples(300))
def test_garbage(data: bytes, cut: float) -> None:
    pair = fuzzed(home="team-a")
    with suppress(ProtocolError):
        for piece in pieces(data, [cut]):
            pair.send(piece)
            pair.session.broker_data(piece)
    checked(pair)
