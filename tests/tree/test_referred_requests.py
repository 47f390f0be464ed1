"""Requests of peers that are not answered, versions, and the counts and audit events of
requests."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from gateway.catalog.source import ACTOR, Actor
from gateway.changes.base.context import Answered
from gateway.error_codes import UNSUPPORTED_VERSION
from gateway.flows import Flow
from gateway.referrals.questions import Outcome
from gateway.traffic.rows import host_of
from gateway.tree import lane_seconds
from gateway.views.access import Access
from protocol import messages
from protocol.schema import api_key_of
from tests.session.pair import topic_id
from tests.tree.fake_tree import LISTENER
from tests.tree.referred_owner import (
    ALICE,
    DEEP,
    ROOT,
    Owner,
    metadata,
    peer,
    question,
    read,
    request,
)
from tests.tree.test_lanes import wanted


@pytest.fixture
def owner() -> Owner:
    return Owner()


# -- requests that are not answered ----------------------------------------------------------------

NOT_ASKED = ["Produce", "Fetch", "OffsetCommit", "JoinGroup", "InitProducerId", "Envelope"]


@pytest.mark.parametrize("target", ["ny", "far"])
@pytest.mark.parametrize("api", NOT_ASKED)
async def test_an_api_that_gateways_do_not_ask_for(owner: Owner, api: str, target: str) -> None:
    key = api_key_of(f"{api}Request").to_bytes(2, "big")
    asked = question(target=target, request=key + bytes(20))
    answer = await owner.referred.answer(DEEP, asked)
    assert (answer.outcome, api in answer.text) == (Outcome.REJECTED, True)
    assert not owner.asked()
    assert not owner.passed_on()


_GOOD = request("Metadata", 12, wanted(":ny:orders"))

JUNK = {
    "empty": b"",
    "one byte": b"\x00",
    "a key alone": b"\x00\x03",
    "cut in its header": _GOOD[:9],
    "cut in its body": _GOOD[:-3],
    "of a version of the future": b"\x00\x03\x00\x63" + _GOOD[4:],
    "of a negative version": b"\x00\x03\xff\xff" + _GOOD[4:],
    "a client id that leads nowhere": _GOOD[:8] + b"\x7f\xff" + _GOOD[10:],
}


@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK)
async def test_a_request_that_is_none(owner: Owner, junk: bytes) -> None:
    answer = await owner.referred.answer(ROOT, question(request=junk))
    assert answer.outcome is Outcome.REJECTED, answer
    assert answer.text
    assert not owner.asked()
    good = await owner.referred.answer(ROOT, metadata(":ny:orders"))
    assert good.outcome is Outcome.ANSWERED


async def test_a_cluster_that_does_not_answer(
    owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane_seconds, "LOOKUP_SECONDS", 0.01)
    owner.tree.clusters["ny"].waits = True
    answer = await owner.referred.answer(ROOT, metadata(":ny:orders"))
    assert answer.outcome is Outcome.UNREACHABLE
    assert "':ny' does not answer" in answer.text
    assert owner.tree.clusters["ny"].suspicions == 1


async def test_a_question_that_has_no_time_left(
    owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane_seconds, "LOOKUP_SECONDS", 3_600)
    owner.tree.clusters["ny"].waits = True
    async with asyncio.timeout(60):
        answer = await owner.referred.answer(ROOT, metadata(":ny:orders", seconds=0.01))
    assert answer.outcome is Outcome.UNREACHABLE
    assert "within 0.01 s" in answer.text


async def test_a_volume_that_is_down(owner: Owner) -> None:
    owner.tree.clusters["ny"].reachable = False
    answer = await owner.referred.answer(ROOT, metadata(":ny:orders"))
    assert (answer.outcome, bool(answer.text)) == (Outcome.UNREACHABLE, True)
    assert not owner.asked()


# -- versions --------------------------------------------------------------------------------------


def _served() -> Any:
    keys = [
        {"api_key": 0, "min_version": 0, "max_version": 99},
        {"api_key": 3, "min_version": 0, "max_version": 99},
    ]
    features = [{"name": "metadata.version", "max_version_level": 29, "min_version_level": 7}]
    values = {"api_keys": keys, "finalized_features": features, "finalized_features_epoch": 3}
    return messages.make(messages.message_class("ApiVersionsResponse", 4), values)


@pytest.mark.parametrize("version", range(5))
async def test_what_a_cluster_serves(owner: Owner, version: int) -> None:
    owner.tree.clusters["ny"].served = _served()
    asked = question(request=request("ApiVersions", version, b""))
    response = read(await owner.referred.answer(ROOT, asked), "ApiVersions", version, header=4)
    found = {one.api_key: one.max_version for one in response.api_keys}
    assert found[0] == 99, "clients produce elsewhere: what is served there is not said here"
    assert found[3] == 13, "Metadata is asked for here"
    if version >= 3:
        (feature,) = response.finalized_features
        assert (feature.max_version_level, response.finalized_features_epoch) == (29, 3)


async def test_what_a_cluster_serves_in_a_version_of_the_future(owner: Owner) -> None:
    head = b"\x00\x12\x00\x63" + bytes(4) + b"\xff\xff\x00"
    answer = await owner.referred.answer(ROOT, question(request=head))
    assert read(answer, "ApiVersions", 0, header=4).error_code == UNSUPPORTED_VERSION


async def test_a_cluster_that_was_never_reached_serves_nothing_yet(owner: Owner) -> None:
    asked = question(request=request("ApiVersions", 3, b""))
    answer = await owner.referred.answer(ROOT, asked)
    assert answer.outcome is Outcome.UNREACHABLE


# -- counts and audit events -----------------------------------------------------------------------


def led(flows: list[Flow]) -> list[tuple[str, str, str, str, int]]:
    """Principal, address, client id, topic and requests of flows that have requests."""
    return [
        (
            flow.source.principal,
            flow.source.client_address,
            flow.source.client_id,
            flow.flat,
            flow.requests,
        )
        for flow in flows
        if flow.requests
    ]


async def test_flows_are_collected_once_and_tell_the_peer(owner: Owner) -> None:
    asker = peer("root", {ALICE: "User:root-alice"})
    for _ in range(3):
        await owner.referred.answer(asker, metadata(":ny:team:x"))
    flows = owner.referred.take_flows()
    address = "192.0.2.7 (peer root)"
    assert led(flows) == [("User:root-alice", address, "app", "team..x", 3)]
    assert host_of(address) == address
    assert flows[0].source.listener == LISTENER
    assert owner.referred.take_flows() == []
    await owner.referred.answer(asker, metadata(":ny:team:x"))
    assert [each[-1] for each in led(owner.referred.take_flows())] == [1]


@pytest.mark.parametrize("client_id", [None, b"", b"\xff" * 20_000])
async def test_client_ids_of_all_kinds(owner: Owner, client_id: bytes | None) -> None:
    asked = request("Metadata", 12, wanted(":ny:orders"), client_id=client_id)
    for _ in range(2):
        answer = await owner.referred.answer(ROOT, question(request=asked))
        assert answer.outcome is Outcome.ANSWERED
    ((_, _, shown, _, number),) = led(owner.referred.take_flows())
    assert number == 2
    assert len(shown.encode()) < 2**15


async def test_counts_of_a_request_under_way_are_collected_when_it_is_done(owner: Owner) -> None:
    cluster = owner.tree.clusters["ny"]
    go_on, answer = asyncio.Event(), cluster.answer

    async def late(api: str, version: int, request: Any) -> dict[str, object]:
        await go_on.wait()
        return await answer(api, version, request)

    cluster.answer = late  # type: ignore[method-assign]
    asking = asyncio.create_task(owner.referred.answer(ROOT, metadata(":ny:orders")))
    async with asyncio.timeout(60):
        while not cluster.asked:
            await asyncio.sleep(0)
    early = owner.referred.take_flows()
    go_on.set()
    assert (await asking).outcome is Outcome.ANSWERED
    late_flows = owner.referred.take_flows()
    assert sum(each[-1] for each in led([*early, *late_flows])) == 1
    assert owner.referred.take_flows() == []


async def test_changes_are_made_and_audited_as_the_clients_by_way_of_the_peer(
    owner: Owner,
) -> None:
    actors: list[Actor] = []
    principals: list[str] = []

    class Changes:
        async def create_topics(self, access: Access, version: int, body: bytes) -> Answered:
            actors.append(ACTOR.get())
            principals.append(access.principal)
            topics = [{"name": ":ny:team:new", "topic_id": topic_id(9)}]
            return Answered(messages.made("CreateTopicsResponse", version, {"topics": topics}))

    owner.tree.volumes["ny"].state.changes = cast(Any, Changes())
    topics = [{"name": ":ny:team:new", "num_partitions": 1, "replication_factor": 1}]
    body = messages.made("CreateTopicsRequest", 7, {"topics": topics})
    asked = question(request=request("CreateTopics", 7, body), host="")
    answer = await owner.referred.answer(peer("root", {ALICE: "User:root-alice"}), asked)
    assert answer.outcome is Outcome.ANSWERED, answer.text
    assert principals == ["User:root-alice"]
    (actor,) = actors
    expected = ("User:root-alice", "unknown (peer root)", LISTENER, "app", "CreateTopics")
    assert (actor.principal, actor.address, actor.listener, actor.client_id, actor.api) == expected
