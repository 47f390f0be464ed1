"""Metadata that lets topics be created: the request that the broker gets, the topics that the
gateway creates, and the response that the client gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from gateway.catalog.entities import TopicEntry
from gateway.catalog.source import Actor
from gateway.changes.topics.auto_creation import AutoCreation
from gateway.names import LogicalName
from gateway.views.access import Access
from protocol import messages
from protocol.messages import element_class, make
from tests.session.allowing import Allowing
from tests.session.pair import CLIENT_ID, Pair

METADATA = "Metadata"
VERSIONS = range(14)
UNKNOWN_TOPIC, NOT_ALLOWED = 3, 29


@dataclass
class Recorded:
    """Creates nothing, and records the topics that it was to create."""

    allowed: bool = True
    begun: list[dict[str, str]] = field(default_factory=list)
    actors: list[Actor] = field(default_factory=list)

    def allows(self, name: LogicalName) -> bool:
        return self.allowed

    def begin(self, access: Access, actor: Actor, names: Mapping[LogicalName, str]) -> None:
        self.begun.append({str(name): spelled for name, spelled in names.items()})
        self.actors.append(actor)


def asking(version: int, *names: str, allowed: bool = True) -> Any:
    cls = messages.message_class("MetadataRequest", version)
    topics = tuple(make(element_class(cls, "topics"), {"name": name}) for name in names)
    return make(cls, {"topics": topics, "allow_auto_topic_creation": allowed})


def asked(
    pair: Pair, version: int, *names: str, allowed: bool = True
) -> tuple[list[str], bool, dict[str, int]]:
    """The topics in the broker's request, whether it may create them, and the error codes that the
    client gets from a broker that knows every topic."""
    seen = pair.ask(METADATA, version, asking(version, *names, allowed=allowed))
    flats = [topic.name for topic in seen.topics]
    assert pair.asked_as is not None
    cls = messages.message_class("MetadataResponse", pair.asked_as)
    topic = element_class(cls, "topics")
    reply = make(cls, {"topics": tuple(make(topic, {"name": flat}) for flat in flats)})
    answer = pair.reply(METADATA, version, reply, sent=pair.asked_as)
    codes = {each.name: int(each.error_code) for each in answer.topics}
    return flats, getattr(seen, "allow_auto_topic_creation", True), codes


def made(*, allowed: bool = True, **more: Any) -> tuple[Pair, Recorded]:
    pair, recorded = Pair(**more), Recorded(allowed)
    pair.worker.auto_creation = cast(AutoCreation, recorded)
    return pair, recorded


@pytest.mark.parametrize("version", VERSIONS)
def test_topics_of_namespaces_are_the_gateway_s(version: int) -> None:
    pair, recorded = made(topics=["team-a..there", "plain"])
    flats, may, codes = asked(pair, version, "team-a:new", "team-a:there", "plain", "team-b..legal")
    assert (flats, may) == (["team-a..there", "plain"], False)
    assert codes == {
        "team-a:new": UNKNOWN_TOPIC,
        "team-a:there": 0,
        "plain": 0,
        "team-b..legal": UNKNOWN_TOPIC,
    }
    assert recorded.begun == [{"team-a:new": "team-a:new", "team-b:legal": "team-b..legal"}]
    (actor,) = recorded.actors
    assert (actor.principal, actor.client_id, actor.api) == (
        "User:ANONYMOUS",
        CLIENT_ID.decode(),
        METADATA,
    )
    assert not pair.worker.denials, "nobody was denied anything"


@pytest.mark.parametrize("version", VERSIONS)
def test_what_the_broker_may_not_create_beside_them_the_gateway_does(version: int) -> None:
    pair, recorded = made(topics=["team-a..there"])
    flats, may, codes = asked(pair, version, "new", "team-a:there")
    assert (flats, may, codes) == (
        ["team-a..there"],
        False,
        {"new": UNKNOWN_TOPIC, "team-a:there": 0},
    )
    assert recorded.begun == [{"new": "new"}]


@pytest.mark.parametrize("version", VERSIONS)
def test_plain_topics_are_the_broker_s(version: int) -> None:
    pair, recorded = made(topics=["plain"])
    flats, may, _ = asked(pair, version, "new", "plain")
    assert (flats, may, pair.asked_as) == (["new", "plain"], True, version)
    assert not recorded.begun


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["x__y", "x._y", "a..b__c"])
def test_names_that_a_namespace_may_take_are_the_gateway_s(version: int, name: str) -> None:
    """If the broker created it, the namespace might be created meanwhile."""
    pair, recorded = made()
    _, may, codes = asked(pair, version, f":{name}")
    assert (may, codes) == (False, {f":{name}": UNKNOWN_TOPIC})
    assert recorded.begun == [{name: f":{name}"}]


@pytest.mark.parametrize("version", VERSIONS)
def test_one_that_exists_is_not_created_again_by_the_broker(version: int) -> None:
    """Its topic may be deleted while the request waits at the broker."""
    entry = TopicEntry("stored", LogicalName("team-a", "moved"))
    for name in ("x__y", "team-a:moved"):
        pair, recorded = made(topics=["x__y", "stored"], entries=[entry])
        _, may, codes = asked(pair, version, name)
        assert (may, codes, recorded.begun) == (False, {name: 0}, [])


@pytest.mark.parametrize("version", VERSIONS)
def test_a_name_that_reads_as_a_namespace_s_is_not_created(version: int) -> None:
    pair, recorded = made(spelling="legal")
    _, _, codes = asked(pair, version, "nowhere..orders")
    assert codes == {"nowhere..orders": UNKNOWN_TOPIC}
    assert not recorded.begun
    (event,) = pair.worker.denials
    assert "kafka-topics --create --topic nowhere:" in event.message


@pytest.mark.parametrize("version", VERSIONS)
def test_no_namespace_is_created(version: int) -> None:
    pair, recorded = made()
    _, _, codes = asked(pair, version, "nowhere:orders", "nowhere:", "team-a:none:")
    assert set(codes.values()) == {UNKNOWN_TOPIC}
    assert not recorded.begun


@pytest.mark.parametrize("version", VERSIONS)
def test_no_topic_under_the_name_that_one_was_moved_from(version: int) -> None:
    entry = TopicEntry("team-a..t", LogicalName("team-b", "t"))
    pair, recorded = made(topics=["team-a..t"], entries=[entry])
    _, _, codes = asked(pair, version, "team-a:t", "team-b:t")
    assert codes == {"team-a:t": UNKNOWN_TOPIC, "team-b:t": 0}
    assert not recorded.begun


@pytest.mark.parametrize("version", VERSIONS)
def test_where_it_is_off_it_is_said_at_once(version: int) -> None:
    pair, recorded = made(allowed=False, topics=["team-a..there"])
    flats, may, codes = asked(pair, version, "team-a:new", "new", "team-a:there")
    assert (flats, may) == (["new", "team-a..there"], False)
    assert (codes["team-a:new"], recorded.begun) == (UNKNOWN_TOPIC, [])
    assert [event.rule for event in pair.worker.denials] == ["auto_creation"]


@pytest.mark.parametrize("version", range(4, 14))
def test_a_request_that_forbids_it_creates_nothing(version: int) -> None:
    """It denies nothing either, because Kafka Streams looks for topics like this before it creates
    them."""
    pair, recorded = made()
    _, _, codes = asked(pair, version, "team-a:new", "new", "x", allowed=False)
    assert (codes["team-a:new"], recorded.begun) == (UNKNOWN_TOPIC, [])
    assert not pair.worker.denials
    asked(pair, version, "x__y", allowed=False)
    assert not recorded.begun


@pytest.mark.parametrize("version", VERSIONS)
def test_who_may_not_create_is_told_so(version: int) -> None:
    """Kafka responds TOPIC_AUTHORIZATION_FAILED without CREATE if the topic would be created."""
    allowing = Allowing(
        ["DESCRIBE TOPIC team-a:new", "DESCRIBE TOPIC team-a:mine", "CREATE TOPIC team-a:mine"]
    )
    pair, recorded = made(authorizer=allowing)
    _, _, codes = asked(pair, version, "team-a:new", "team-a:mine", "team-a:secret")
    assert codes == {
        "team-a:new": NOT_ALLOWED,
        "team-a:mine": UNKNOWN_TOPIC,
        "team-a:secret": NOT_ALLOWED,
    }
    assert recorded.begun == [{"team-a:mine": "team-a:mine"}]
    pair, _ = made(authorizer=allowing, allowed=False)
    assert asked(pair, version, "team-a:new")[2] == {"team-a:new": UNKNOWN_TOPIC}


@pytest.mark.parametrize("version", VERSIONS)
def test_two_spellings_are_one_topic(version: int) -> None:
    pair, recorded = made()
    _, _, codes = asked(pair, version, "team-a:new", "team-a..new")
    assert codes == {"team-a:new": UNKNOWN_TOPIC, "team-a..new": UNKNOWN_TOPIC}
    assert recorded.begun == [{"team-a:new": "team-a:new"}]


@pytest.mark.parametrize("version", VERSIONS)
def test_bare_names_at_home(version: int) -> None:
    pair, recorded = made(home="team-a")
    _, _, codes = asked(pair, version, "new", "a..b", ":team-b:x")
    assert set(codes.values()) == {UNKNOWN_TOPIC}
    assert recorded.begun == [{"team-a:new": "new", "team-a:a..b": "a..b"}]
