"""Produce and Fetch have a loop of their own; the general handler of every other API must decide,
forward, answer and count the same, for requests and for responses."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.apis import generic
from gateway.apis.table import plan_of
from gateway.catalog.entities import Alias, TopicEntry
from gateway.exchanges.exchange import Answer, Exchange, Forward, Plan
from gateway.names import LogicalName
from protocol import messages
from protocol.headers import read_request_header, response_body_pos, response_header
from protocol.schema import api_key_of
from protocol.splice import splice
from tests.examples import examples
from tests.session import fetching
from tests.session.allowing import Allowing
from tests.session.mutating import QUICK, pieces
from tests.session.pair import Pair, frames, raw_frame
from tests.session.producing import batch, produce

TOPICS: Final = ("team-a..orders", "team-a..x", "team-b..secret", "plain", "team-a..moved")
VIRTUAL: Final = 77
OLD, NEW = LogicalName("team-a", "moved"), LogicalName("team-b", "arrived")
NAMES: Final = (
    *("team-a:orders", "team-a..orders", "orders", "team-a:x", "x", "plain", ":plain"),
    *("team-b:secret", "nowhere:x", "bad name", "__kafka_gateway_catalog", "__consumer_offsets"),
    *("team-a:", "team-a:new", "team-a:Ü", "team-b:arrived", "team-a:moved", "a_b.c-d", "n" * 249),
)
IDS: Final = ("1", "2", "3", "4", "5", "9", str(VIRTUAL))
ALLOWED: Final = tuple(
    f"{operation} TOPIC {name}"
    for operation in ("READ", "WRITE", "DESCRIBE")
    for name in ("team-a:orders", "team-a:x", "team-a:new", "plain", "team-b:arrived")
)
CASES: Final = [
    *(("Produce", version) for version in range(3, 14)),
    *(("Fetch", version) for version in range(4, 16)),
]
CORRELATION_ID: Final = 7


@st.composite
def worlds(draw: st.DrawFn) -> dict[str, Any]:
    """The settings of a listener, its ACLs, and whether a topic was moved, with an alias or not."""
    aliases = draw(st.sampled_from([(), (Alias(OLD, 2**50, None),)]))
    moved = TopicEntry("team-a..moved", NEW, UUID(int=VIRTUAL).bytes, aliases)
    return {
        "home": draw(st.sampled_from(["", "", "team-a"])),
        "spelling": draw(st.sampled_from(["colon", "legal"])),
        "entries": draw(st.sampled_from([(), (moved,)])),
        "allowed": draw(st.sampled_from([None, ALLOWED])),
    }


def pair_of(world: dict[str, Any]) -> Pair:
    settings = {key: value for key, value in world.items() if key != "allowed"}
    allowed = world["allowed"]
    return Pair(topics=TOPICS, authorizer=Allowing(allowed) if allowed else None, **settings)


def request(api: str, version: int, topics: dict[str, int]) -> bytes:
    """A request for these numbers of partitions, by topic."""
    if api == "Produce":
        data: dict[str, list[bytes | None]] = {
            topic: [batch(2)] * count for topic, count in topics.items()
        }
        return messages.write(produce(data, version))
    keys: dict[str | int, list[int]] = {
        int(topic) if version >= 13 else topic: list(range(count))
        for topic, count in topics.items()
    }
    return messages.write(fetching.request(version, keys))


def broker_response(api: str, version: int, body: bytes, codes: list[int]) -> bytes:
    """A broker's response to the forwarded body: error codes in turn, and records if fetched."""
    seen = messages.parse(f"{api}Request", version, body)
    turn = iter(codes * 100)
    if api == "Produce":
        responses = [
            {
                "name": getattr(topic, "name", None),
                "topic_id": getattr(topic, "topic_id", None),
                "partition_responses": [
                    {"index": one.index, "error_code": next(turn)} for one in topic.partition_data
                ],
            }
            for topic in seen.topic_data
        ]
    else:
        responses = [
            {
                "topic": getattr(topic, "topic", None),
                "topic_id": getattr(topic, "topic_id", None),
                "partitions": [
                    {
                        "partition_index": one.partition,
                        "error_code": next(turn),
                        "records": fetching.batch(3),
                    }
                    for one in topic.partitions
                ],
            }
            for topic in seen.topics
        ]
    cls = messages.message_class(f"{api}Response", version)
    return messages.write(messages.make(cls, {"responses": responses}))


class Seen:
    """The bodies of a request and its response after one way of handling, and its counts."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.sent: bytes | None = None
        self.answer: bytes | None = None
        self.lead = ""

    def denials(self) -> list[tuple[object, ...]]:
        """The denial events: rule, code, name, message, namespace."""
        events = self.pair.worker.denials
        return [(one.rule, one.code, one.named, one.message, one.namespace) for one in events]

    def counts(self) -> tuple[Counter[int], Counter[str]]:
        """Error codes, and denials by rule, over all flows."""
        errors: Counter[int] = Counter()
        denials: Counter[str] = Counter()
        for flow in self.pair.session.state.take_flows():
            errors.update(flow.errors)
            denials.update(flow.denials)
        return errors, denials


def unrolled(pair: Pair, plan: Plan, body: bytes, codes: list[int], cuts: list[float]) -> Seen:
    """Handle the request through the session; request and response arrive in pieces."""
    seen = Seen(pair)
    for piece in pieces(raw_frame(plan.api_key, plan.version, body), cuts):
        pair.send(piece)
    for payload in frames(pair.to_broker()):
        seen.sent = payload[read_request_header(payload, 0, len(payload))[4] :]
        in_flight = pair.session._in_flight.queue
        assert in_flight is not None
        flow = in_flight[0].flow
        seen.lead = "" if flow is None else flow.flat
        response = broker_response(plan.name, plan.version, seen.sent, codes)
        header = response_header(CORRELATION_ID, plan.response_header_version)
        whole = (len(header) + len(response)).to_bytes(4, "big") + header + response
        for piece in pieces(whole, cuts):
            pair.answered(piece)
    (payload,) = frames(pair.to_client())
    at = response_body_pos(payload, 0, len(payload), plan.response_header_version)
    seen.answer = payload[at:]
    return seen


def general(pair: Pair, plan: Plan, body: bytes, codes: list[int]) -> Seen:
    """Handle the request through the general handlers."""
    seen, state = Seen(pair), pair.session.state
    state.note_client_id(b"test-client")
    exchange = Exchange(plan, CORRELATION_ID, 0.0, len(body))
    exchange.refreshed = True  # nothing is newer than the session's view
    outcome = generic.request(state, exchange, body, 0, len(body))
    if isinstance(outcome, Answer):
        seen.answer = exchange.finish(outcome.body)
        return seen
    assert isinstance(outcome, list | Forward)
    seen.sent = splice(body, 0, len(body), outcome) if isinstance(outcome, list) else outcome.body
    named = [*(exchange.spelled or {})]
    named += [pair.facts.index.name_of(own) or b"" for own in exchange.spelled_ids or {}]
    seen.lead = named[0].decode() if named else ""
    response = broker_response(plan.name, plan.version, seen.sent, codes)
    restored = generic.response(state, exchange, response, 0, len(response))
    seen.answer = exchange.finish(generic.whole(response, restored))
    return seen


def by_topic(api: str, version: int, body: bytes) -> tuple[Any, list[str]]:
    """A response without its topics, and the topics in sorted order, because errors of denied
    topics stand before the broker's if a Fetch response passes in pieces."""
    response = messages.parse(f"{api}Response", version, body)
    return messages.changed(response, {"responses": ()}), sorted(map(repr, response.responses))


def compare(
    plan: Plan, world: dict[str, Any], body: bytes, codes: list[int], cuts: list[float]
) -> None:
    """Handle a request and its response both ways, and compare everything that can be seen."""
    expected = general(pair_of(world), plan, body, codes)
    found = unrolled(pair_of(world), plan, body, codes, cuts)

    assert found.sent == expected.sent
    assert found.denials() == expected.denials()
    assert found.answer is not None and expected.answer is not None
    if plan.name == "Fetch" and found.sent != body:
        # Errors of rejected topics stand before the broker's if the response is divided.
        assert by_topic(plan.name, plan.version, found.answer) == by_topic(
            plan.name, plan.version, expected.answer
        )
    else:
        assert found.answer == expected.answer
    if not found.denials():
        assert found.lead == expected.lead
    assert found.counts() == expected.counts()


@pytest.mark.parametrize(("api", "version"), CASES, ids=lambda part: str(part))
@settings(QUICK, max_examples=examples(40))
@given(data=st.data(), world=worlds())
def test_as_the_general_handler(
    api: str, version: int, data: st.DataObject, world: dict[str, Any]
) -> None:
    plan = plan_of(api_key_of(f"{api}Request"), version)
    assert plan is not None
    names = st.sampled_from(IDS if version >= 13 else NAMES)
    topics = data.draw(st.dictionaries(names, st.integers(1, 3), min_size=1, max_size=4))
    codes = data.draw(st.lists(st.sampled_from([0, 0, 3, 6, 29]), min_size=1, max_size=4))
    cuts = data.draw(st.lists(st.floats(0, 1), max_size=3))
    body = request(api, version, topics)

    compare(plan, world, body, codes, cuts)


@pytest.mark.parametrize("version", [13, 14, 15])
@pytest.mark.parametrize("cuts", [[], [0.5]])
def test_a_moved_topic_by_id(version: int, cuts: list[float]) -> None:
    """The id is restored in a response that has wholly arrived, and in a response that has not."""
    plan = plan_of(1, version)
    assert plan is not None
    moved = TopicEntry("team-a..moved", NEW, UUID(int=VIRTUAL).bytes, ())
    world = {"home": "", "spelling": "colon", "entries": (moved,), "allowed": None}
    topics = {"1": 2, str(VIRTUAL): 2, "4": 1}
    compare(plan, world, request("Fetch", version, topics), [0, 6], cuts)


def test_the_cases_are_of_every_kind() -> None:
    """Some topics are forwarded, some rejected, and moved topics change ids, as the test above
    shows."""
    moved = TopicEntry("team-a..moved", NEW, UUID(int=VIRTUAL).bytes, ())
    world = {"home": "", "spelling": "colon", "entries": (moved,), "allowed": None}
    plan = plan_of(1, 15)
    assert plan is not None
    forwarded = {
        number: general(pair_of(world), plan, request("Fetch", 15, {number: 1}), [0]).sent
        for number in IDS
    }
    assert {number for number, sent in forwarded.items() if sent is None} == {"5", "9"}
    sent = forwarded[str(VIRTUAL)]
    assert sent is not None and UUID(int=5).bytes in sent and UUID(int=VIRTUAL).bytes not in sent
