"""Every denial of every change leaves an event in the audit log: as many events as responses have
items with errors that the gateway itself decided, code by code. AUDIT_SECONDS=N runs it that long,
AUDIT_SEED=N repeats a run."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from itertools import product
from random import Random
from time import monotonic
from typing import Any, Final

import pytest

from gateway.error_codes import (
    CLUSTER_AUTHORIZATION_FAILED,
    GROUP_AUTHORIZATION_FAILED,
    REQUEST_TIMED_OUT,
    SECURITY_DISABLED,
    TOPIC_AUTHORIZATION_FAILED,
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
)
from gateway.exchanges.exchange import Exchange, Work
from gateway.session.deciding import MAX_TRIES, Deciding
from protocol import messages
from protocol.headers import response_body_pos, response_header_version
from protocol.messages import element_class, make
from protocol.schema import api_key_of
from tests.pauses import pause_everywhere
from tests.session.admin_requests_at_random import (
    CHANGES,
    Request,
    request_at_random,
    world_at_random,
)
from tests.session.allowing import Allowing
from tests.session.changing import FORBIDDEN_CLUSTER
from tests.session.pair import Pair, ScriptedBroker, frames, raw_frame, request_frame
from tests.session.test_audit import audited
from tests.session.twin_exchanges import CASES, Asked, exchange, reply
from tests.session.twin_worlds import World

SECONDS: Final = float(os.environ.get("AUDIT_SECONDS", "0"))
SEED: Final = int(os.environ.get("AUDIT_SEED", "1"))
WORLDS: Final = 120
REQUESTS: Final = 12
"""Requests in one world, on the same connection."""

UNDECIDED: Final = (REQUEST_TIMED_OUT, SECURITY_DISABLED)
"""Errors of requests to be tried again, or about ACLs if there are none."""
BY_ACLS: Final = frozenset(
    {
        TOPIC_AUTHORIZATION_FAILED,
        GROUP_AUTHORIZATION_FAILED,
        CLUSTER_AUTHORIZATION_FAILED,
        TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    }
)
COUNTED: Final = frozenset({"DeleteRecords", "DeleteGroups"})
"""Changes that are forwarded, where each item has an error of its own."""
BROKERS: Final = "(a broker says:)"
ITEMS: Final = {
    "CreateTopics": "topics",
    "DeleteTopics": "responses",
    "CreatePartitions": "results",
    "IncrementalAlterConfigs": "responses",
    "AlterConfigs": "responses",
    "DescribeConfigs": "results",
    "CreateAcls": "results",
    "DeleteAcls": "filter_results",
    "AlterUserScramCredentials": "results",
}
"""The array of a response that has an entry for each item; other responses have a single error."""

TOPICS: Final = frozenset({"CreateTopics", "DeleteTopics", "CreatePartitions"})


class FrankBroker(ScriptedBroker):
    """A broker that marks each of its errors as its own."""

    async def ask(self, request: messages.Request, *, changes: bool = True) -> Any:
        """Respond as BrokerAdmin.ask does."""
        return _signed(await super().ask(request, changes=changes))


def _signed(entity: Any) -> Any:
    changed: dict[str, Any] = {}
    for each in fields(entity):
        value = getattr(entity, each.name)
        if isinstance(value, tuple) and value and is_dataclass(value[0]):
            changed[each.name] = tuple(map(_signed, value))
        elif each.name == "error_message" and entity.error_code:
            changed[each.name] = BROKERS
    return replace(entity, **changed)


def denied(request: Request, response: Any) -> Iterator[int]:
    """The code of each item that the gateway itself has denied. A topic is a single item, however
    often a request names it."""
    array = ITEMS.get(request.api)
    items = [response] if array is None else getattr(response, array)
    if request.api == "DescribeUserScramCredentials" and not response.error_code:
        # Under a home the named users get the error of the request.
        items = [one for one in response.results if one.error_code == FORBIDDEN_CLUSTER]
    if request.api in TOPICS:
        items = {(item.name, getattr(item, "topic_id", None)): item for item in items}.values()
    for item in items:
        # A broker's error in response to a forwarded request has no text here.
        brokers = not item.error_message or BROKERS in item.error_message
        if item.error_code and item.error_code not in UNDECIDED and not brokers:
            yield int(item.error_code)


async def answer(pair: Pair, request: Request) -> Any:
    """The response; a forwarded request is answered without errors, except for topics that do not
    exist."""
    asked = Asked(request.api, request.version)
    session = pair.session
    session.client_data(
        raw_frame(api_key_of(f"{request.api}Request"), request.version, request.body)
    )
    while (waiting := session.waiting) is not None:
        session.resume(await waiting.run() if isinstance(waiting, Work) else None)
    while sent := pair.to_broker():
        for payload in frames(sent):
            pair.answered(reply("plain", World(), pair.facts.index, asked, payload))
    return pair.answer(request.api, request.version)


async def test_every_denial_of_every_change_is_an_event() -> None:
    random, until = Random(SEED), monotonic() + SECONDS
    seen: Counter[tuple[str, int]] = Counter()
    worlds = 0
    while worlds < WORLDS or monotonic() < until:
        worlds += 1
        pair = world_at_random(random)
        pair.broker.__class__ = FrankBroker
        sink = audited(pair)
        for _ in range(REQUESTS):
            request = request_at_random(random, pair)
            sink.events.clear()
            response = await answer(pair, request)
            expected = Counter(denied(request, response))
            logged = Counter(data["error_code"] for data in sink.data)
            assert logged == expected, f"{request}, answered {response}, has events {sink.data}"
            assert all(data["api"] == request.api for data in sink.data)
            seen.update((request.api, code) for code in expected)
            pair.catalog_changed()
    # Each API was denied something.
    assert {api for api, _ in seen} == CHANGES


# -- requests that are forwarded without their denied items ----------------------------------------


def denied_by_acls(entity: Any) -> Iterator[int]:
    """The codes of ACL denials anywhere in a response."""
    code = int(getattr(entity, "error_code", 0))
    if code in BY_ACLS:
        yield code
    for each in fields(entity):
        value = getattr(entity, each.name)
        for inner in value if isinstance(value, tuple) else (value,):
            if is_dataclass(inner):
                yield from denied_by_acls(inner)


@pytest.mark.parametrize(("api", "version"), CASES)
def test_no_request_is_denied_anything_without_an_event(api: str, version: int) -> None:
    world = World(namespaces=("team-a", "hid"), topics=("hid..x",))
    topics, groups = ("team-a:orders", "hid:x", "no:x", "other"), ("app", "hid..app", "other")
    for named, ids in product((topics, topics[1:]), (groups, groups[1:])):
        pair = world.pair()
        sink = audited(pair)
        payloads = frames(exchange(world, pair, Asked(api, version, named, ids)))
        logged = Counter(data["error_code"] for data in sink.data)
        for payload in payloads:
            key = api_key_of(f"{api}Request")
            start = response_body_pos(
                payload, 0, len(payload), response_header_version(key, version)
            )
            response = messages.parse(f"{api}Response", version, payload[start:])
            expected = Counter(denied_by_acls(response))
            assert expected.keys() <= logged.keys(), f"{response} has events {sink.data}"
            if api in COUNTED:
                assert expected == Counter({c: n for c, n in logged.items() if c in BY_ACLS})


# -- requests that are decided several times -------------------------------------------------------

MANY = 300
"""Topics of a request that takes several slices."""


@pytest.mark.parametrize("api", ["Metadata", "CreateTopics", "DeleteTopics"])
@pytest.mark.parametrize("every", [1, 3, 10, 100_000])
def test_what_a_long_request_is_denied_is_an_event_once(
    monkeypatch: pytest.MonkeyPatch, api: str, every: int
) -> None:
    """However often the catalog changes while the request is decided, so that it is decided again:
    at each pause, at every third, never."""
    pause_everywhere(monkeypatch)
    pair = Pair(topics=[], authorizer=Allowing([]))
    sink = audited(pair)
    names = {f"team-a:t{number}" for number in range(MANY)}
    version = {"Metadata": 8, "CreateTopics": 4, "DeleteTopics": 6}[api]
    cls = messages.message_class(f"{api}Request", version)
    element = element_class(cls, "topics")
    entity = messages.build(cls, topics=tuple(make(element, {"name": name}) for name in names))
    pair.session.client_data(request_frame(api, version, entity))
    exchanges: set[Exchange] = set()
    pauses = 0
    while (waiting := pair.session.waiting) is not None:
        while isinstance(waiting, Deciding) and not waiting.slices.step():
            exchanges.add(waiting.exchange)
            pauses += 1
            if pauses % every == 0:
                pair.catalog_changed()
        pair.session.resume()
    assert pauses < every or len(exchanges) >= MAX_TRIES
    assert Counter(data["resource"] for data in sink.data) == dict.fromkeys(names, 1)


def test_what_is_denied_only_when_a_request_is_decided_again_is_an_event_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rights are removed while the first denials are being reported; and the request counts on a
    flow (``gateway.exchanges.meter``) though these denials are not reported twice."""
    pause_everywhere(monkeypatch)
    names = [f"team-a:t{number}" for number in range(MANY)]
    allowed = [f"DESCRIBE TOPIC {name}" for name in names[::2]]
    pair = Pair(topics=[name.replace(":", "..") for name in names], authorizer=Allowing(allowed))
    sink = audited(pair)
    cls = messages.message_class("MetadataRequest", 8)
    element = element_class(cls, "topics")
    entity = messages.build(cls, topics=tuple(make(element, {"name": name}) for name in names))
    pair.session.client_data(request_frame("Metadata", 8, entity))
    exchanges: list[Exchange] = []
    while (waiting := pair.session.waiting) is not None:
        while isinstance(waiting, Deciding) and not waiting.slices.step():
            if sink.data and not exchanges:
                exchanges.append(waiting.exchange)
                pair.authorizer = Allowing([])
                pair.catalog_changed()
        if isinstance(waiting, Deciding):
            exchanges.append(waiting.exchange)
        pair.session.resume()
    assert len(set(exchanges)) > 1
    assert Counter(data["resource"] for data in sink.data) == dict.fromkeys(names, 1)
    assert exchanges[-1].flow is not None
