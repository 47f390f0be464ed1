"""Requests and responses whose bodies end too early, at each byte, alone and before another frame.

Each is ProtocolError, whoever sends it: no handler reads a byte behind the end of its frame, which
may be nothing or the next frame's, and nothing of such a request reaches the broker.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gateway.acls.standard import StandardAuthorizer
from protocol.errors import ProtocolError
from protocol.headers import read_request_header, response_body_pos, response_header_version
from protocol.schema import api_key_of
from tests.session import samples
from tests.session.pair import Pair, request_frame, response_frame, topic_id

OWN = "team-a..orders"


def cases(*, here: bool) -> list[tuple[str, int]]:
    """The first, the last and one more version of each API."""
    versions: dict[str, list[int]] = {}
    for api, version in samples.decided(here=here):
        versions.setdefault(api, []).append(version)
    return [
        (api, version)
        for api, all_of in versions.items()
        for version in sorted({all_of[0], all_of[len(all_of) // 2], all_of[-1]})
    ]


FORWARDED = cases(here=False)
ALL = FORWARDED + cases(here=True)
WORLDS = ("home", "super user")
DENSE = 12
"""Bytes at the start of a body that are cut one by one: what a handler reads before it walks. The
rest is cut in steps."""


def world(kind: str) -> Pair:
    """A session with a home, or of a super user without one, who may do everything."""
    if kind == "home":
        return Pair(home="team-a", topics=[OWN])
    authorizer = StandardAuthorizer()
    authorizer.configure({"super.users": ("User:alice",)}, lambda: None)
    return Pair(topics=[OWN], authorizer=authorizer)


def cuts(frame: bytes, body: int) -> Iterator[bytes]:
    """The frame, whose body begins at ``body``, with fewer bytes and the size that they have; every
    other one has the whole frame behind it."""
    lengths = [*range(body, len(frame))[:DENSE], *range(body + DENSE, len(frame), 31)]
    for number, length in enumerate(lengths):
        cut = (length - 4).to_bytes(4, "big") + frame[4:length]
        if number == 0:
            yield cut
        yield cut + frame if number % 2 == 0 else cut


@pytest.mark.parametrize("kind", WORLDS)
@pytest.mark.parametrize(("api", "version"), ALL)
def test_requests(api: str, version: int, kind: str) -> None:
    frame = request_frame(api, version, samples.request(api, version, "orders", topic_id(1)))
    *_, start = read_request_header(frame, 4, len(frame))
    for sent in cuts(frame, start):
        pair = world(kind)
        with pytest.raises(ProtocolError):
            pair.send(sent)
        assert not pair.to_broker()


@pytest.mark.parametrize(("api", "version"), FORWARDED)
def test_responses(api: str, version: int) -> None:
    without_home = api in samples.MADE_HERE | samples.NOT_UNDER_A_HOME
    home, own = ("", samples.PLAIN) if without_home else ("team-a", OWN)
    asked = samples.request(api, version, samples.forwarded(api, "orders"), topic_id(1))
    first = Pair(home=home, topics=[own])
    first.send(request_frame(api, version, asked))
    sent_as = int.from_bytes(first.to_broker()[6:8], "big")
    reply = samples.response(api, sent_as, own, topic_id(1), home and "team-a..", members_topic=own)
    frame = response_frame(api, sent_as, reply)
    flexible = response_header_version(api_key_of(f"{api}Request"), sent_as)
    start = response_body_pos(frame, 4, len(frame), flexible)
    for sent in cuts(frame, start):
        pair = Pair(home=home, topics=[own])
        pair.send(request_frame(api, version, asked))
        with pytest.raises(ProtocolError):
            pair.session.broker_data(sent)
