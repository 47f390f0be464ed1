"""Produce and Fetch decide topics in a loop of their own: it lets the same topics pass, and renames
them the same way, as the renamer of every other API."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.apis import generic, walking
from gateway.apis.table import plan_of
from gateway.exchanges.exchange import Exchange, Plan
from gateway.rules.rename import RequestRenamer
from protocol import messages
from protocol.errors import ProtocolError
from protocol.schema import api_key_of
from protocol.splice import splice
from tests.examples import examples
from tests.protocol.kafka_reader import Reader
from tests.session import fetching
from tests.session.allowing import Allowing
from tests.session.mutating import QUICK, pieces
from tests.session.mutations import framed
from tests.session.pair import Pair, raw_frame, topic_id
from tests.session.producing import batch, produce

TOPICS: Final = ("team-a..orders", "team-a..x", "team-b..secret", "plain")
NAMES: Final = (
    *("team-a:orders", "team-a..orders", "team-a:x", "plain", "team-b:secret", "team-b..secret"),
    *("nowhere:x", "bad name", "__kafka_gateway_catalog", "team-a:", "team-a:new", "team-a:Ü"),
)
IDS: Final = ("1", "2", "3", "4", "9")
ALLOWED: Final = tuple(
    f"{operation} TOPIC {name}"
    for operation in ("READ", "WRITE", "DESCRIBE")
    for name in ("team-a:orders", "team-a:x", "team-a:new", "plain")
)

CASES = [("Produce", version) for version in range(3, 14)]
CASES += [("Fetch", version) for version in range(4, 16)]


def request(api: str, version: int, topics: list[str], partitions: int) -> Any:
    """A request for these topics, each once."""
    if api == "Produce":
        return produce({topic: [batch(1)] * partitions for topic in topics}, version)
    numbers = list(range(partitions))
    keys: list[str | int] = [int(topic) if topic.isdigit() else topic for topic in topics]
    return fetching.request(version, dict.fromkeys(keys, numbers))


def plain(pair: Pair, plan: Plan, body: bytes) -> RequestRenamer:
    """The renamer's decision on the request."""
    renamer = generic.renamer_for(pair.session.state, Exchange(plan, 7, 0.0, len(body)))
    renamer.add(walking.request_spans(plan, body, 0, len(body)))
    return renamer


def named(plan: Plan, spans: bytes) -> list[Any]:
    """The names and ids of topics in a payload, as Kafka reads them."""
    return [value for kind, value in Reader(spans).request()[3] if kind in (0, 1) and any(value)]


@pytest.mark.parametrize(("api", "version"), CASES, ids=lambda part: str(part))
@settings(QUICK, max_examples=examples(40))
@given(data=st.data(), authorized=st.booleans())
def test_as_the_renamer_decides(
    api: str, version: int, data: st.DataObject, authorized: bool
) -> None:
    plan = plan_of(api_key_of(f"{api}Request"), version)
    assert plan is not None
    by_id = version >= 13
    chosen = st.lists(st.sampled_from(IDS if by_id else NAMES), min_size=1, max_size=4, unique=True)
    topics = data.draw(chosen)
    body = messages.write(request(api, version, topics, data.draw(st.integers(1, 2))))
    authorizer = Allowing(ALLOWED) if authorized else None

    expected = plain(Pair(topics=TOPICS, authorizer=authorizer), plan, body)
    pair = Pair(topics=TOPICS, authorizer=authorizer)
    frame = raw_frame(plan.api_key, version, body)
    for piece in pieces(frame, data.draw(st.lists(st.floats(0, 1), max_size=3))):
        with suppress(ProtocolError):
            pair.send(piece)
    sent = pair.to_broker()
    if expected.rejections is None:
        start = len(frame) - len(body)
        assert sent == framed(frame[4:start] + splice(body, 0, len(body), expected.edits))
        return
    rejected = expected.rejections.topics.keys() | expected.rejections.aliases.keys()
    allowed = expected.spelled_ids if by_id else expected.spelled
    left = [own for own, asked in allowed.items() if asked not in rejected]
    assert (named(plan, sent[4:]) if sent else []) == left


def test_the_cases_are_of_both_kinds() -> None:
    """Some of the drawn topics are let pass, some rejected; otherwise the test above shows
    nothing."""
    plan = plan_of(0, 9)
    assert plan is not None
    found = {
        name: plain(Pair(topics=TOPICS), plan, messages.write(request("Produce", 9, [name], 1)))
        for name in NAMES
    }
    rejected = {name for name, renamer in found.items() if renamer.rejections is not None}
    assert rejected == {"nowhere:x", "bad name", "__kafka_gateway_catalog", "team-a:", "team-a:Ü"}
    assert Pair(topics=TOPICS).facts.index.name_of(topic_id(9).bytes) is None
