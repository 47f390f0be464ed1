"""Responses to a principal about volumes without rights for it, or outside of its reach."""

from __future__ import annotations

import re
import uuid
from typing import Any

import pytest

from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.support import authorized, clients
from tests.live.support.wire import Wire
from tests.live.tree import questions
from tests.live.tree.authorized_tree import GUESTS, HIDDEN, PUBLIC
from tests.live.tree.questions import Question

NOWHERE = "no-such-name"
OF_NY = (":ny:tracking:", "/ny/tracking/", "..ny.tracking..")
OF_NOBODY = (":sf:tracking:", "/sf/tracking/", "..sf.tracking..")
"""The same names in a place of the tree without a cluster."""

_REJECTED = re.compile(r"error_code=(3|6|16|29|30|31|42|53|100)\b")
"""Unknown topics and ids, no leader or coordinator here, not authorized, INVALID_REQUEST."""

_BY_CHANCE = re.compile(r"(throttle_time=|producer_id=)[^,)]*(\([^)]*\))?")

_NOT_YET = re.compile(r"error_code=(14|15)\b")
"""Error codes of a coordinator that is loading or not available yet."""

_STATEFUL = ("EndTxn",)
"""APIs whose response depends on earlier requests.

A name outside of the reach is an id of the own volume like any other.
"""


@pytest.fixture(scope="module")
def gateway(acls_alone: GatewayProcess) -> GatewayProcess:
    """The gateway in front of both clusters."""
    return acls_alone


def answers(address: str, user: str, question: Question, *names: str) -> list[str]:
    """The responses about each of these names, with the name itself taken out."""
    found = []
    with Wire(address) as wire:
        authorized.prove(wire, user)
        for name in names:
            answer = settled(wire, question, name)
            own = re.split("[:/.]", name)[-1]
            for shown in (name, OF_NY[0] + own, OF_NOBODY[0] + own):  # error texts have colons
                answer = answer.replace(shown, "(name)")
            found.append(_BY_CHANCE.sub("", answer))
    return found


def settled(wire: Wire, question: Question, name: str) -> str:
    """The response about a name, once the coordinators that Kafka creates on demand are there."""
    api, version, fields = question

    def answer() -> str | None:
        found = repr(wire.ask(api, version, **fields(name)))
        return None if _NOT_YET.search(found) else found

    found = wait_until(answer, f"an answer to {api}", clients.SECONDS)
    assert found is not None
    return found


def node(gateway: GatewayProcess, listener: str) -> str:
    """The address of a listener's broker in Los Angeles."""
    servers = gateway.bootstrap_servers(listener)
    brokers = authorized.admin(servers).list_topics(timeout=clients.SECONDS).brokers
    broker = brokers[min(brokers)]
    return f"{broker.host}:{broker.port}"


def names_of(question: Question) -> str:
    return f"{question[0]}-v{question[1]}"


@pytest.mark.parametrize("question", questions.BY_NAME, ids=names_of)
@pytest.mark.parametrize("user", ["alice", "bob", authorized.ADMIN])
def test_what_exists_elsewhere_answers_as_what_does_not(
    gateway: GatewayProcess, question: Question, user: str
) -> None:
    """Without trust, even a super user of the listener's volume, or ``User:*``, has no rights."""
    for before in OF_NY:
        asked = [before + name for name in (NOWHERE, HIDDEN, PUBLIC, GUESTS)]
        found = answers(node(gateway, "la"), user, question, *asked)
        assert len(set(found)) == 1, found
        assert _REJECTED.search(found[0]), found


@pytest.mark.parametrize("question", questions.BY_NAME, ids=names_of)
@pytest.mark.parametrize("listener", ["narrow", "home"])
def test_what_is_out_of_reach_answers_as_where_no_cluster_stands(
    gateway: GatewayProcess, question: Question, listener: str
) -> None:
    at = node(gateway, listener)
    for before, nothing in zip(OF_NY, OF_NOBODY, strict=True):
        for user in ("alice",) if question[0] in _STATEFUL else ("alice", authorized.ADMIN):
            for name in (PUBLIC, NOWHERE):
                real = answers(at, user, question, before + name)
                missing = answers(at, user, question, nothing + name)
                assert [re.sub(r"\bny\b", "sf", one) for one in real] == missing


@pytest.mark.parametrize("listener", ["la", "narrow", "home"])
def test_a_topic_id_of_elsewhere_answers_as_an_unknown_one(
    gateway: GatewayProcess, listener: str
) -> None:
    with Wire(gateway.bootstrap_servers("ny")) as wire:
        authorized.prove(wire, authorized.ADMIN)
        topics = [{"name": HIDDEN}, {"name": PUBLIC}]
        known = [t.topic_id for t in wire.ask("Metadata", 12, topics=topics).topics]
    assert all(known)
    with Wire(node(gateway, listener)) as wire:
        authorized.prove(wire, authorized.ADMIN)
        for api, version, fields in questions.BY_ID:
            found = set()
            for topic_id in (*known, uuid.uuid4()):
                answer = repr(wire.ask(api, version, **fields(topic_id)))
                found.add(_BY_CHANCE.sub("", answer.replace(repr(topic_id), "(id)")))
            assert len(found) == 1, "\n".join(found)


def brokers(gateway: GatewayProcess, listener: str, user: str) -> set[int]:
    """The numbers of the clusters whose brokers a listener shows a user."""
    with Wire(gateway.bootstrap_servers(listener)) as wire:
        authorized.prove(wire, user)
        shown: Any = wire.ask("Metadata", 12, topics=[])
        described = wire.ask("DescribeCluster", 1)
    numbers = {int(broker.node_id) >> 16 for broker in shown.brokers}
    assert numbers == {int(broker.broker_id) >> 16 for broker in described.brokers}
    return numbers


def test_brokers_are_shown_of_volumes_where_the_principal_has_an_allow(
    gateway: GatewayProcess,
) -> None:
    shown = {
        (listener, user): brokers(gateway, listener, user)
        for listener in ("la", "trusted", "mapped", "narrow", "home")
        for user in ("alice", "bob", authorized.ADMIN)
    }
    own, both = {1}, {1, 2}
    assert shown == {
        ("la", "alice"): own,
        ("la", "bob"): own,
        ("la", authorized.ADMIN): own,
        ("trusted", "alice"): both,
        ("trusted", "bob"): both,  # the rights of User:*
        ("trusted", authorized.ADMIN): both,
        ("mapped", "alice"): both,
        ("mapped", "bob"): own,
        ("mapped", authorized.ADMIN): own,
        ("narrow", "alice"): own,
        ("narrow", "bob"): own,
        ("narrow", authorized.ADMIN): own,
        ("home", "alice"): own,
        ("home", "bob"): own,
        ("home", authorized.ADMIN): own,
    }
