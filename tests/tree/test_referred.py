"""Questions of peers at the owner of a mount, and on the way to it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

import pytest

from gateway.audit.event import AuditEvent, encode
from gateway.config.models import Trust
from gateway.config.security import ListenerSasl
from gateway.error_codes import TOPIC_AUTHORIZATION_FAILED
from gateway.referrals.description import GatewayDescription
from gateway.referrals.lookups import Lookups
from gateway.referrals.questions import Answer, Kind, Outcome, Question
from gateway.referrals.routing import Routes
from gateway.tree.lanes import LaneHub
from gateway.tree.referred import MAX_SECONDS, Referred
from gateway.views.access import Access
from gateway.views.views import Views
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
from tests.tree.test_lanes import NY_1


@pytest.fixture
def owner() -> Owner:
    return Owner()


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
    """Also for a path that it does not have, if the question may go no farther."""
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
    """Nor is its question passed on, because this gateway's word would launder the peer's."""
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
    """The owner of a path is the same for all clients; still the next gateway gets no name."""
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
        cast(LaneHub, owner.tree),
        owner.config,
        Routes.of_config(owner.config),
        cast(Lookups, noting),
    )
    asked = question(target="far", request=request(api, version, b""))
    await owner.referred.answer(DEEP, asked)
    assert noting.asked == [("deep", changes)]
