"""Questions of peers at the owner of a mount, and on the way to it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gateway.audit.event import AuditEvent, encode
from gateway.catalog.source import ACTOR, Actor
from gateway.changes.base.context import Answered
from gateway.config.models import Cluster, Config, Listener, Trust
from gateway.config.security import ListenerSasl
from gateway.config.tree import Child, Peer, TreeSettings
from gateway.connections import lane_seconds
from gateway.connections.lanes import LaneHub
from gateway.connections.referred import MAX_SECONDS, Referred
from gateway.connections.volumes import Volumes
from gateway.error_codes import TOPIC_AUTHORIZATION_FAILED, UNSUPPORTED_VERSION
from gateway.flows import Flow
from gateway.referrals.description import GatewayDescription
from gateway.referrals.locations import Locations
from gateway.referrals.lookups import Lookups
from gateway.referrals.numbers import Numbers
from gateway.referrals.questions import Answer, Hop, Kind, Outcome, Question
from gateway.referrals.routing import Routes
from gateway.traffic.rows import host_of
from gateway.views.access import Access
from gateway.views.views import Views
from protocol import messages
from protocol.schema import api_key_of
from tests.connections.fake_tree import LISTENER, PATHS, FakeTree
from tests.connections.test_lanes import NY_1, answers_metadata, wanted
from tests.session.allowing import Allowing
from tests.session.pair import raw_frame, topic_id
from tests.views.trees import mounts, tree_settings

ALICE = "User:alice"
SIZE = 4


def peer(name: str, principals: Any = "all") -> Peer:
    return Peer.model_construct(name=name, principals=principals)


ROOT, DEEP = peer("root"), peer("deep")


class FakeLink:
    """The way to a peer, which has every mount; ``asked`` are the questions of it."""

    up = True

    def __init__(self, name: str) -> None:
        self.name = name
        self.asked: list[Question] = []

    async def ask(self, question: Question) -> Answer:
        self.asked.append(question)
        hops = (Hop("gw-far", 10),)
        return Answer(Outcome.ANSWERED, mount=question.target, number=77, hops=hops)


class Owner:
    """A gateway with the volumes ``la`` and ``ny``, the parent ``root``, and below ``ny`` the child
    ``deep``. Clients of ``la``'s listener may see both."""

    def __init__(
        self,
        *,
        allowed: Iterable[str] | None = None,
        trust: Sequence[Trust] = (Trust(listener=LISTENER),),
        **listener: Any,
    ) -> None:
        self.tree = FakeTree()
        for path in PATHS:
            answers_metadata(self.tree.clusters[path])
        settings = {"name": LISTENER, "port": 9000, "volume": "la", "reach": None, **listener}
        self.tree.listener = Listener.model_construct(**settings)
        self._rights(allowed, trust)
        clusters = [
            Cluster.model_construct(name=f"c{n}", mount=path, number=n)
            for n, path in enumerate(PATHS, 1)
        ]
        below = Child.model_construct(
            name="deep", mount="ny:deep", principals="all", certificate=None
        )
        above = Peer.model_construct(name="root", principals="all", certificate=None)
        self.config = Config.model_construct(
            gateway_id="gw",
            clusters=tuple(clusters),
            listeners=(self.tree.listener,),
            tree=TreeSettings.model_construct(parents=(above,), children=(below,)),
        )
        routes = Routes.of_config(self.config)
        self.links = {name: FakeLink(name) for name in ("root", "deep")}
        lookups = Lookups(
            "gw",
            routes,
            self.links,
            locations=Locations(expiry_seconds=30, unknown_seconds=5),
            numbers=Numbers({path: n for n, path in enumerate(PATHS, 1)}),
            max_hops=16,
        )
        self.referred = Referred(cast(LaneHub, self.tree), self.config, routes, lookups)

    def _rights(self, allowed: Iterable[str] | None, trust: Sequence[Trust]) -> None:
        """Let volumes trust the listener, and allow what is listed in ``ny`` (None: everything)."""
        tree = self.tree
        authorizer = None if allowed is None else Allowing(allowed)
        settings = [tree_settings(mounts(*PATHS), "ny", "la")]
        tree.views["ny"] = Views(tree.catalogs["ny"], settings, authorizer)
        config = cast(Any, SimpleNamespace(principals={}, clusters=[SimpleNamespace(trust=trust)]))
        volumes = [
            replace(each, views=tree.views[each.path], config=config) for each in tree.volumes
        ]
        tree.volumes = Volumes(volumes, [tree.listener])

    def asked(self) -> list[tuple[str, Any]]:
        """What the clusters were asked for."""
        return [each for path in PATHS for each in self.tree.clusters[path].asked]

    def passed_on(self) -> list[tuple[str, Question]]:
        """The questions of peers."""
        return [(link.name, each) for link in self.links.values() for each in link.asked]


@pytest.fixture
def owner() -> Owner:
    return Owner()


def question(kind: Kind = Kind.REQUEST, target: str = "ny", **values: Any) -> Question:
    """A question of a client at ``la``'s listener of another gateway."""
    asked = Question(kind, "la", target, ("gw-asker",), 8, 60.0, ALICE, "192.0.2.7")
    return replace(asked, **values)


def request(
    api: str, version: int, body: bytes, *, client_id: bytes | None = b"app", number: int = 5
) -> bytes:
    """A request without its size."""
    return raw_frame(api_key_of(f"{api}Request"), version, body, number, client_id)[SIZE:]


def metadata(*names: str, **values: Any) -> Question:
    return question(request=request("Metadata", 12, wanted(*names)), **values)


def read(answer: Answer, api: str, version: int, header: int = 5) -> Any:
    """The response in an answer; ``header`` are the bytes of its header."""
    assert answer.outcome is Outcome.ANSWERED, answer.text
    return messages.parse(f"{api}Response", version, answer.response[header:])


# -- here ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["ny", "ny:team", "ny:team:x"])
async def test_whose_a_path_is(owner: Owner, target: str) -> None:
    answer = await owner.referred.answer(ROOT, question(Kind.LOCATE, target))
    assert (answer.outcome, answer.mount, answer.number) == (Outcome.ANSWERED, "ny", 2)
    (hop,) = answer.hops
    assert (hop.gateway_id, hop.cached) == ("gw", False)
    assert not owner.passed_on()


@pytest.mark.parametrize(("target", "hops"), [("ny", 8), ("ny", 0), ("", 0), ("far", 0)])
async def test_what_a_gateway_says_of_itself(target: str, hops: int) -> None:
    """Also of a path that it does not have, if the question may go no farther."""
    owner = Owner()
    asked = question(Kind.DESCRIBE, target, hops=hops)
    answer = await owner.referred.answer(peer("root", {}), asked)
    described = GatewayDescription.from_json(answer.response)
    assert (described.gateway, described.numbers) == ("gw", {"la": 1, "ny": 2})
    assert described.numbers[answer.mount] == answer.number
    assert not owner.passed_on()


async def test_a_request_is_answered_as_to_a_client_of_the_askers_listener(owner: Owner) -> None:
    answer = await owner.referred.answer(ROOT, metadata(":ny:team:x"))
    assert answer.response[:5] == b"\x00\x00\x00\x05\x00"
    response = read(answer, "Metadata", 12)
    (topic,) = response.topics
    assert (topic.name, topic.partitions[0].leader_id) == (":ny:team:x", NY_1)
    (broker,) = response.brokers
    assert (broker.node_id, broker.host, broker.port) == (NY_1, "gateway", 9200)
    assert (answer.mount, answer.number, answer.hops[0].gateway_id) == ("ny", 2, "gw")
    ((api, sent),) = owner.tree.clusters["ny"].asked
    assert (api, [each.name for each in sent.topics]) == ("Metadata", ["team..x"])


async def test_relative_names_are_in_the_askers_volume(owner: Owner) -> None:
    answer = await owner.referred.answer(ROOT, metadata("team:x", target="la"))
    (topic,) = read(answer, "Metadata", 12).topics
    assert topic.name == "team:x"
    assert not owner.tree.clusters["ny"].asked


async def test_a_mount_is_asked_for_itself(owner: Owner) -> None:
    answer = await owner.referred.answer(ROOT, metadata(":ny:team:x", target="ny:team"))
    assert answer.outcome is Outcome.NO_SUCH_MOUNT
    assert "':ny:team'" in answer.text
    assert not owner.asked()


@pytest.mark.parametrize(
    "listener",
    [
        {"reach": ("la",)},
        {"volume": "ny"},
        {"sasl": ListenerSasl.model_construct(mechanisms=("PLAIN",), pass_through=True)},
    ],
    ids=["out of reach", "of another volume", "whose rights brokers know"],
)
async def test_without_a_listener_for_the_askers_volume(listener: dict[str, Any]) -> None:
    owner = Owner(**listener)
    answer = await owner.referred.answer(ROOT, metadata(":ny:orders"))
    assert answer.outcome is Outcome.REJECTED
    assert "'gw' has no listener of volume ':la' that reaches ':ny'" in answer.text
    assert not owner.asked()


# -- principals ------------------------------------------------------------------------------------


@pytest.mark.parametrize("principals", [{}, {"User:bob": ALICE}], ids=["none", "another"])
@pytest.mark.parametrize("target", ["ny", "far", "ny:deep"])
async def test_a_principal_that_a_peer_may_not_speak_for(
    owner: Owner, principals: dict[str, str], target: str
) -> None:
    """Nor is its question passed on: this gateway's word would launder the peer's."""
    answer = await owner.referred.answer(
        peer("root", principals), metadata(":ny:orders", target=target)
    )
    assert answer.outcome is Outcome.DENIED
    for word in ("'root'", f"'{ALICE}'", "'principals'", "'gw'"):
        assert word in answer.text
    assert not owner.asked()
    assert not owner.passed_on()
    (denial,) = owner.tree.volumes["la"].state.denials
    assert (denial.rule, denial.resource) == ("peer", f":{target}")
    assert (denial.source.listener, denial.source.principal) == ("peers", ALICE)
    assert denial.source.client_address.endswith("(peer root)")
    assert json.loads(encode("gw", AuditEvent("1", 0.0, denial)))["data"]["rule"] == "peer"


async def test_control_characters_of_a_principal_are_not_repeated(owner: Owner) -> None:
    asked = metadata(":ny:orders", principal="User:a\nFORGED")
    answer = await owner.referred.answer(peer("root", {}), asked)
    assert "\n" not in answer.text


async def test_a_principal_is_mapped_before_its_question_is_passed_on(owner: Owner) -> None:
    asker = peer("root", {ALICE: "User:root-alice"})
    await owner.referred.answer(asker, metadata(":ny:deep:x", target="ny:deep"))
    ((name, passed),) = owner.passed_on()
    assert (name, passed.principal) == ("deep", "User:root-alice")


async def test_nobody_is_spoken_for_by_a_peer_that_may_speak_for_none(owner: Owner) -> None:
    """Whose a path is, is the same for all; the next gateway is told no name all the same."""
    await owner.referred.answer(peer("root", {}), question(Kind.LOCATE, "ny:deep"))
    ((_, passed),) = owner.passed_on()
    assert passed.principal == "User:ANONYMOUS"


ALLOWED = ["DESCRIBE TOPIC orders"]


async def test_the_mapped_principal_has_the_rights_of_the_volume(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    owner = Owner(allowed=ALLOWED)
    seen: list[tuple[str, str]] = []
    access = Views.access

    def noted(views: Views, view: Any, principal: str, host: str) -> Access:
        seen.append((principal, host))
        return access(views, view, principal, host)

    monkeypatch.setattr(Views, "access", noted)
    asker = peer("root", {ALICE: "User:root-alice"})
    answer = await owner.referred.answer(asker, metadata(":ny:orders", ":ny:team:x"))
    response = read(answer, "Metadata", 12)
    codes = {topic.name: topic.error_code for topic in response.topics}
    assert codes == {":ny:orders": 0, ":ny:team:x": TOPIC_AUTHORIZATION_FAILED}
    assert [broker.node_id for broker in response.brokers] == [NY_1]
    assert set(seen) == {("User:root-alice", "192.0.2.7")}


@pytest.mark.parametrize(
    ("allowed", "trust"), [([], (Trust(listener=LISTENER),)), (ALLOWED, ())], ids=["ACLs", "trust"]
)
async def test_whoever_may_see_nothing_of_a_volume_is_not_told_its_brokers(
    allowed: list[str], trust: Sequence[Trust]
) -> None:
    owner = Owner(allowed=allowed, trust=trust)
    response = read(await owner.referred.answer(ROOT, metadata(":ny:orders")), "Metadata", 12)
    assert (response.brokers, response.cluster_id, response.controller_id) == ((), None, -1)
    (topic,) = response.topics
    assert (topic.name, topic.error_code) == (":ny:orders", TOPIC_AUTHORIZATION_FAILED)


# -- on the way ------------------------------------------------------------------------------------


async def test_a_question_is_passed_on(owner: Owner) -> None:
    answer = await owner.referred.answer(ROOT, question(Kind.LOCATE, "ny:deep"))
    assert (answer.outcome, answer.mount, answer.number) == (Outcome.ANSWERED, "ny:deep", 77)
    assert [hop.gateway_id for hop in answer.hops] == ["gw", "gw-far"]
    ((name, passed),) = owner.passed_on()
    assert (name, passed.path, passed.hops) == ("deep", ("gw-asker", "gw"), 7)


async def test_no_question_waits_for_days(owner: Owner) -> None:
    await owner.referred.answer(ROOT, question(Kind.LOCATE, "ny:deep", seconds=86_400.0))
    ((_, passed),) = owner.passed_on()
    assert passed.seconds <= MAX_SECONDS


async def test_a_question_of_a_parent_does_not_go_up_again(owner: Owner) -> None:
    answer = await owner.referred.answer(ROOT, question(Kind.LOCATE, "far"))
    assert answer.outcome is Outcome.NO_SUCH_MOUNT
    assert not owner.passed_on()


@pytest.mark.parametrize("target", ["ny", "far"])
@pytest.mark.parametrize("kind", Kind)
async def test_a_loop_is_cut(owner: Owner, kind: Kind, target: str) -> None:
    asked = metadata(":ny:orders", kind=kind, target=target, path=("gw-asker", "gw", "gw-other"))
    answer = await owner.referred.answer(DEEP, asked)
    assert answer.outcome is Outcome.REJECTED
    assert "gw-asker > gw > gw-other > gw" in answer.text
    assert not owner.asked()
    assert not owner.passed_on()


async def test_a_question_whose_hops_are_used_up_ends_here(owner: Owner) -> None:
    answer = await owner.referred.answer(DEEP, question(Kind.LOCATE, "far", hops=0))
    assert answer.outcome is Outcome.REJECTED
    assert "tree.max_hops" in answer.text
    assert not owner.passed_on()
    here = await owner.referred.answer(DEEP, question(Kind.LOCATE, "ny", hops=0))
    assert here.outcome is Outcome.ANSWERED


class Noting:
    """Lookups that note whether a question may change something."""

    def __init__(self) -> None:
        self.asked: list[tuple[str | None, bool]] = []

    async def ask(
        self, question: Question, *, came_from: str | None = None, changes: bool = False
    ) -> Answer:
        self.asked.append((came_from, changes))
        return Answer(Outcome.ANSWERED)


@pytest.mark.parametrize(
    ("api", "version", "changes"),
    [("Metadata", 12, False), ("CreateTopics", 7, True), ("ApiVersions", 3, False)],
)
async def test_what_changes_something_is_asked_once(
    owner: Owner, api: str, version: int, changes: bool
) -> None:
    noting = Noting()
    owner.referred = Referred(
        cast(LaneHub, owner.tree), owner.config, Routes.of_config(owner.config), noting
    )
    asked = question(target="far", request=request(api, version, b""))
    await owner.referred.answer(DEEP, asked)
    assert noting.asked == [("deep", changes)]


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


# -- what is counted and audited -------------------------------------------------------------------


def led(flows: list[Flow]) -> list[tuple[str, str, str, str, int]]:
    """Principal, address, client id, topic and requests of flows that have any."""
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
