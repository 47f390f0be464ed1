"""Groups, transactional ids and their ACLs that a new namespace would take over."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from gateway.acl_model import Operation, Resource, ResourceType, pattern_of
from gateway.acls.standard import StandardAuthorizer
from gateway.changes.base.context import Answered
from gateway.changes.base.existing_ids import IdListing, Ids
from gateway.changes.base.flat_acls import FlatAcls
from gateway.slices import Turns
from gateway.views.access import Access
from gateway.views.authorized_access import AuthorizedAccess
from tests.changes.acl_requests import entities
from tests.changes.admin_requests import Shape, Told, codes, create, told_all
from tests.changes.admin_requests import made as made_by
from tests.changes.fake_coordinators import LIST_TRANSACTIONS, LOADING
from tests.changes.fakes import FakeGateway, World, once

ADOPT: dict[str, str | None] = {"gateway.adopt": "true"}
CLUSTER_DENIED, TIMED_OUT, INVALID = 31, 7, 17
OWNERS = (
    "ALLOW ALL User:owner GROUP:LITERAL:team-a.x..g",
    "ALLOW ALL User:owner TRANSACTIONAL_ID:LITERAL:team-a.x..tx",
)
MAKER = (
    "ALLOW CREATE User:maker TOPIC:PREFIXED:team-a:",
    "ALLOW DELETE User:maker TOPIC:PREFIXED:team-a:",
)
DELEGATE = ("ALLOW ALTER User:maker TOPIC:LITERAL:team-a:",)


def world(*acls: str, namespaces: tuple[str, ...] = ("team-a",)) -> tuple[World, FakeGateway]:
    """A cluster with a group and a transactional id that read as names in ``team-a:x``."""
    made = World(namespaces)
    made.broker.groups += ["app", "team-a.x..g"]
    made.broker.ids += ["app", "team-a.x..tx"]
    if acls:
        made.log.append(entities(acls))
    gateway = made.gateway()
    gateway.cluster.api_versions = {LIST_TRANSACTIONS: (0, 2)}
    return made, gateway


def access(gateway: FakeGateway, principal: str = "User:maker", home: str = "") -> Access:
    """A principal's access by the catalog's ACLs."""
    authorizer = StandardAuthorizer()
    authorizer.see(gateway.catalog.snapshot)
    return AuthorizedAccess(gateway.view(home), principal, "127.0.0.1", authorizer)


async def make(
    gateway: FakeGateway, name: str = "team-a:x:", home: str = "", **configs: str
) -> tuple[Told, Answered]:
    """Create the namespace as User:maker: ``adopt="true"`` is the config ``gateway.adopt``."""
    shape = Shape(configs={f"gateway.{key}": value for key, value in configs.items()})
    answered = await made_by(gateway, name, shape=shape, access=access(gateway, home=home))
    (told,) = told_all(answered, 7)
    return told, answered


async def test_groups_and_ids_are_named_and_nothing_is_made() -> None:
    one, gateway = world()
    (told,) = await create(gateway, "team-a:x:")
    assert (told.code, told.message) == (
        INVALID,
        "Namespace 'team-a:x' would take over existing groups: 'team-a.x..g'; transactional ids:"
        " 'team-a.x..tx'. To adopt them, create it with the config gateway.adopt=true.",
    )
    assert codes(await create(gateway, "team-a:x:", validate_only=True)) == [INVALID]
    assert not one.log.decisions
    assert codes(await create(gateway, "team-a:x:", configs=ADOPT)) == [0]
    assert "team-a:x" in one.snapshot.namespaces


@pytest.mark.parametrize(
    "group",
    [
        "team-a_x__g",  # ids do not collide where topics would
        "team-a..g",  # in an existing namespace
        "team-a.x.y..g",  # in a namespace below, which is not created
        "team-a.xy..g",
        "Team-a.x..g",
        "team-a:x:g",
    ],
)
async def test_what_is_no_id_of_the_namespace_is_not_in_its_way(group: str) -> None:
    _, gateway = world()
    gateway.broker.groups, gateway.broker.ids = [group], []
    assert codes(await create(gateway, "team-a:x:")) == [0]


async def test_the_empty_group_of_the_home_is_one_of_them() -> None:
    _, gateway = world()
    gateway.broker.groups, gateway.broker.ids = ["team-a.x.."], []
    (told,) = await create(gateway, "team-a:x:")
    assert told.code == INVALID
    assert "groups: 'team-a.x..'" in told.message


async def test_so_are_those_of_the_tiers_above_that_are_made_along() -> None:
    _, gateway = world(namespaces=())
    gateway.broker.groups += ["team-a..above", "team-a.x.y..a b:c"]
    (told,) = await create(gateway, "team-a:x:y:")
    for name in ("team-a..above", "team-a.x..g", "team-a.x.y..a b:c", "team-a.x..tx"):
        assert f"'{name}'" in told.message


async def test_who_has_no_right_to_them_cannot_take_them_by_making_the_namespace() -> None:
    """Principals that may create and delete namespaces: deleting deletes the groups as well, and
    their clients are denied meanwhile."""
    one, gateway = world(*OWNERS, *MAKER)
    told, _ = await make(gateway)
    assert (told.code, told.message) == (
        INVALID,
        "Namespace 'team-a:x' would take over existing names: 4 that you do not see here."
        " To adopt them, create it with the config gateway.adopt=true.",
    )
    told, answered = await make(gateway, adopt="true")
    assert told.code == CLUSTER_DENIED
    assert {name for name, _ in answered.denied} == {"team-a:x:"}
    assert "team-a:x" not in one.snapshot.namespaces


@pytest.mark.parametrize("hidden", ["topic", "group", "id", "acl"])
async def test_what_is_not_seen_is_counted_whatever_it_is(hidden: str) -> None:
    one, gateway = world(*MAKER)
    gateway.broker.groups, gateway.broker.ids = [], []
    if hidden == "topic":
        one.broker.make("team-a.x..t")
    elif hidden == "acl":
        one.log.append(entities(["DENY READ User:bob GROUP:PREFIXED:team-a.x..pre"]))
    else:
        (gateway.broker.groups if hidden == "group" else gateway.broker.ids).append("team-a.x..i")
    told, _ = await make(gateway)
    assert told.message.startswith(
        "Namespace 'team-a:x' would take over existing names: 1 that you do not see here."
    )


async def test_who_may_describe_them_sees_their_names() -> None:
    describes = (
        "ALLOW DESCRIBE User:maker GROUP:LITERAL:team-a:x:g",
        "ALLOW WRITE User:maker TRANSACTIONAL_ID:LITERAL:team-a.x..tx",
    )
    _, gateway = world(*MAKER, *describes, OWNERS[0])
    told, _ = await make(gateway)
    assert (
        "existing groups: 'team-a.x..g'; transactional ids: 'team-a.x..tx'; 2 that you do not see"
        " here." in told.message
    )
    # A principal that owns them all can delete the group, but not the id: an administrator adopts
    # them.
    assert (await make(gateway, adopt="true"))[0].code == CLUSTER_DENIED


async def test_acls_in_the_flat_spelling_are_named_to_those_who_may_describe_acls() -> None:
    acls = (
        *OWNERS,
        "DENY READ User:bob GROUP:PREFIXED:team-a.x..pre",
        "DENY READ User:bob GROUP:PREFIXED:team-a.x..",
        "DENY READ User:bob GROUP:PREFIXED:team-a.x.",  # covers no id of the namespace
        "DENY READ User:bob GROUP:LITERAL:team-a:x:g",
        "DENY READ User:bob TOPIC:LITERAL:team-a.x..t",
        "ALLOW DESCRIBE User:maker CLUSTER:LITERAL:kafka-cluster",
    )
    _, gateway = world(*MAKER, *acls)
    gateway.broker.groups, gateway.broker.ids = [], []
    told, _ = await make(gateway)
    assert (
        "would take over existing ACLs: 'GROUP:LITERAL:team-a.x..g', 'GROUP:PREFIXED:team-a.x..',"
        " 'GROUP:PREFIXED:team-a.x..pre', 'TRANSACTIONAL_ID:LITERAL:team-a.x..tx'." in told.message
    )


async def test_acls_are_looked_at_once_until_they_change() -> None:
    looked = 0

    class Acls(dict[Any, Any]):
        def __iter__(self) -> Any:
            nonlocal looked
            looked += 1
            return super().__iter__()

    flat, one = FlatAcls(), Acls(dict.fromkeys([pattern_of("GROUP:PREFIXED:a.b..c")]))
    for _ in range(50):
        assert [str(each) for each in flat.inside(one, ["a", "a:b"])] == ["GROUP:PREFIXED:a.b..c"]
        assert not flat.inside(one, ["a", "a:b:c"])
    assert looked == 1
    assert not flat.inside({}, ["a:b"])


async def test_without_an_authorizer_acls_decide_nothing_and_are_in_nobodys_way() -> None:
    _, gateway = world(*OWNERS)
    gateway.broker.groups, gateway.broker.ids = [], []
    assert codes(await create(gateway, "team-a:x:")) == [0]


async def test_an_administrator_adopts_them_and_rights_stay_as_they_were() -> None:
    admin = ("ALLOW ALTER User:maker CLUSTER:LITERAL:kafka-cluster", *MAKER)
    one, gateway = world(*OWNERS, *admin)
    assert (await make(gateway))[0].code == INVALID

    def rights() -> list[bool]:
        return [
            access(gateway, who).denial(int(operation), Resource(kind, "team-a:x", name)) is None
            for who in ("User:owner", "User:maker", "User:bob")
            for operation in (Operation.READ, Operation.WRITE, Operation.DELETE)
            for kind, name in (
                (ResourceType.GROUP, "g"),
                (ResourceType.TRANSACTIONAL_ID, "tx"),
            )
        ]

    before = rights()
    assert (await make(gateway, adopt="true"))[0].code == 0
    assert rights() == before
    assert any(before)
    assert "team-a:x" in one.snapshot.namespaces


async def test_a_delegate_adopts_ids_since_their_acls_are_its_to_change() -> None:
    one, gateway = world(*OWNERS, *DELEGATE)
    told, _ = await make(gateway)
    assert told.code == INVALID
    assert (await make(gateway, adopt="true"))[0].code == 0
    assert "team-a:x" in one.snapshot.namespaces


async def test_but_no_topics() -> None:
    one, gateway = world(*OWNERS, *DELEGATE)
    one.broker.make("team-a.x..t")
    told, answered = await make(gateway, adopt="true")
    assert told.code == CLUSTER_DENIED
    assert {name for name, _ in answered.denied} == {"team-a:x:"}
    assert "team-a:x" not in one.snapshot.namespaces


async def test_nor_above_what_is_delegated() -> None:
    inside = (
        "ALLOW ALTER User:maker TOPIC:LITERAL:team-a:x:",
        "ALLOW CREATE User:maker TOPIC:LITERAL:team-a:x:",
        "ALLOW CREATE User:maker CLUSTER:LITERAL:kafka-cluster",
    )
    _, gateway = world(*inside, namespaces=())
    assert (await make(gateway, adopt="true"))[0].code == CLUSTER_DENIED


async def test_in_a_home_what_is_outside_is_counted() -> None:
    _, gateway = world(*DELEGATE, "ALLOW ALL User:maker GROUP:LITERAL:team-a:x:g")
    gateway.broker.ids = []
    told, _ = await make(gateway, "x:", home="team-a")
    assert "Namespace 'x' would take over existing names: 1 that you do not see" in told.message


# -- the ids that brokers list ---------------------------------------------------------------------


@pytest.mark.parametrize("failure", ["silent", "loading", "leaderless"])
async def test_where_not_all_brokers_list_theirs_it_is_tried_again(failure: str) -> None:
    one, gateway = world()
    broker = gateway.broker
    broker.groups, broker.ids = [], []
    if failure == "silent":
        broker.silent = True
    elif failure == "loading":
        broker.coordinator_error = LOADING
    else:
        broker.make("__consumer_offsets")
        broker.topics["__consumer_offsets"].leader = -1
    (told,) = await create(gateway, "team-a:x:")
    assert (told.code, told.message) == (
        TIMED_OUT,
        "Not all brokers list their groups and transactional ids now, which the namespace might"
        " take over; try again.",
    )
    assert "team-a:x" not in one.snapshot.namespaces
    assert codes(await create(gateway, "team-a:x:", configs=ADOPT)) == [0]


async def test_brokers_before_kafka_3_list_groups_alone() -> None:
    _, gateway = world()
    gateway.cluster.api_versions = {}
    (told,) = await create(gateway, "team-a:x:")
    assert "existing groups: 'team-a.x..g'. To" in told.message
    assert not gateway.broker.requests("ListTransactionsRequest")


async def test_namespaces_that_are_made_together_share_a_listing() -> None:
    _, gateway = world()
    told = await create(gateway, *(f"n{number}:" for number in range(50)))
    assert codes(told) == [0] * 50
    assert len(gateway.broker.requests("ListGroupsRequest")) <= 2
    before = len(gateway.broker.requests("ListGroupsRequest"))
    assert codes(await create(gateway, "n0:", "n1:")) == [36, 36]
    assert codes(await create(gateway, "more:", configs=ADOPT)) == [0]
    assert len(gateway.broker.requests("ListGroupsRequest")) == before


async def test_a_listing_that_has_begun_is_too_old_for_who_comes_meanwhile() -> None:
    one, gateway = world()
    listing = IdListing()
    gateway.broker.groups.clear()
    late: list[asyncio.Task[Ids]] = []

    def listed(prefix: str) -> Any:
        versions = gateway.cluster.api_versions
        return listing.beginning(gateway.context.admin, versions, (prefix,))

    async def meanwhile() -> None:
        gateway.broker.groups.append("team-a.x..new")
        late.append(asyncio.create_task(listed("team-a.x..")))
        await asyncio.sleep(0)

    one.step = once("asked ListGroupsRequest", meanwhile)
    assert (await listed("team-a.x..")).groups == ()
    assert (await late[0]).groups == ("team-a.x..new",)


async def test_one_who_gives_up_does_not_end_it_for_the_others() -> None:
    _, gateway = world()
    listing, versions = IdListing(), gateway.cluster.api_versions
    first, second = (
        asyncio.create_task(listing.beginning(gateway.context.admin, versions, (prefix,)))
        for prefix in ("app", "team-a")
    )
    await asyncio.sleep(0)
    first.cancel()
    assert await second == Ids(("team-a.x..g",), ("team-a.x..tx",))


async def test_long_lists_are_read_in_slices() -> None:
    _, gateway = world()
    gateway.broker.groups = [f"team-a.y..{number:06}" for number in range(10_000)]
    others = 0

    async def other() -> None:
        nonlocal others
        while True:
            others += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    turns = Turns()
    listing = IdListing(turns)
    found = await listing.beginning(gateway.context.admin, {}, ("team-a.x..", "team-a.y.."))
    assert len(found.groups) == 10_000
    assert others > 10
    # The decision pauses, too; a validation alone does not run in the catalog's writer.
    others, context = 0, replace(gateway.context, ids=listing, turns=turns)
    sliced = replace(gateway, context=context)
    (told,) = await create(sliced, "team-a:y:", validate_only=True)
    assert (told.code, "9990 more" in told.message) == (INVALID, True)
    task.cancel()
    assert others > 20
