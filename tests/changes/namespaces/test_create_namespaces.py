"""Creating namespaces: every tier, capture and adoption, as decisions and through CreateTopics."""

from __future__ import annotations

import pytest

from gateway.catalog.entities import Namespace, TopicEntry
from gateway.names import LogicalName
from tests.changes.admin_requests import codes, create
from tests.changes.fakes import World, once


async def test_every_missing_tier_is_made_in_one_decision() -> None:
    world = World()
    (told,) = await create(world.gateway(), "org:apache:kafka:", configs={"retention.ms": "5"})
    assert (told.code, told.name, told.message) == (0, "org:apache:kafka:", "")
    assert world.log.decisions == [
        (
            Namespace("org"),
            Namespace("org:apache"),
            Namespace("org:apache:kafka", {"retention.ms": "5"}),
        )
    ]
    assert not world.broker.topics


async def test_only_missing_tiers_are_made_and_the_others_stay_as_they_are() -> None:
    world = World()
    gateway = world.gateway()
    await create(gateway, "org:", configs={"retention.ms": "5"})
    assert codes(await create(gateway, "org:apache:")) == [0]
    assert world.snapshot.namespaces["org"].configs == {"retention.ms": "5"}
    (told,) = await create(gateway, "org:")
    assert (told.code, told.message) == (36, "Namespace 'org' already exists.")


async def test_validate_only_makes_nothing_but_finds_what_is_wrong() -> None:
    world = World(["org"])
    gateway = world.gateway()
    assert codes(await create(gateway, "a:", "org:", validate_only=True)) == [0, 36]
    assert not world.log.decisions


async def test_configs_are_validated_by_the_broker() -> None:
    world = World()
    (told,) = await create(world.gateway(), "org:", configs={"no.such": "1"})
    assert (told.code, told.message) == (40, "Unknown topic config name: no.such")
    (told,) = await create(world.gateway(), "org:", configs={"retention.ms": None})
    assert told.code == 40
    assert not world.log.decisions
    assert not world.broker.topics


async def test_virtual_configs_but_adopt_are_rejected() -> None:
    world = World()
    (told,) = await create(world.gateway(), "org:", configs={"gateway.namespace": "x"})
    assert told.code == 40
    (told,) = await create(world.gateway(), "org:", configs={"gateway.adopt": "perhaps"})
    assert told.code == 40


@pytest.mark.parametrize("name", [":", "a_b:", "a::b:", "org:a b:"])
async def test_malformed_names_are_rejected(name: str) -> None:
    world = World()
    (told,) = await create(world.gateway(), name)
    assert told.code == 17
    assert told.message
    assert not world.log.decisions


async def test_a_namespace_that_leaves_no_room_for_a_topic_is_rejected() -> None:
    world = World()
    assert codes(await create(world.gateway(), "a" * 246 + ":")) == [0]
    (told,) = await create(world.gateway(), "b" * 247 + ":")
    assert told.code == 17
    assert "249" in told.message


async def test_only_a_final_colon_makes_a_namespace() -> None:
    world = World()
    gateway = world.gateway()
    assert codes(await create(gateway, "org..")) == [0]
    assert not world.snapshot.namespaces
    assert list(world.broker.topics) == ["org.."]
    (told,) = await create(gateway, "org:", configs={"gateway.adopt": "true"})
    assert told.code == 17
    assert "'org..'" in told.message


async def test_what_would_be_captured_is_named() -> None:
    world = World()
    world.broker.make(*(f"org..t{number:02}" for number in range(12)), "org__x", "other")
    (told,) = await create(world.gateway(), "org:")
    assert told.code == 17
    assert "'org..t00'" in told.message
    assert "'org..t09'" in told.message
    assert "'org..t10'" not in told.message
    assert "3 more" in told.message
    assert "gateway.adopt=true" in told.message
    assert not world.snapshot.namespaces


async def test_a_topic_that_others_made_since_is_seen() -> None:
    world = World()
    gateway = world.gateway()
    world.broker.make("org..new")
    assert codes(await create(gateway, "org:")) == [17]


async def test_captured_topics_are_adopted_as_they_are() -> None:
    world = World()
    world.broker.make("org..plain", "org__folded")
    world.broker.make("org..own", retention_ms="7")
    before = {name: topic.topic_id for name, topic in world.broker.topics.items()}
    (told,) = await create(world.gateway(), "org:", configs={"gateway.adopt": "true"})
    assert told.code == 0
    owners = {flat: str(world.snapshot.owner(flat)) for flat in before}
    assert owners == {
        "org..plain": "org:plain",
        "org__folded": "org:folded",
        "org..own": "org:own",
    }
    assert world.snapshot.topics["org..own"].own_configs == ("retention.ms",)
    assert "org..plain" not in world.snapshot.topics
    assert {name: topic.topic_id for name, topic in world.broker.topics.items()} == before
    assert len(world.log.decisions) == 1


async def test_a_folded_topic_whose_name_is_taken_is_not_adopted() -> None:
    taken = TopicEntry("elsewhere", LogicalName("org", "x"))
    world = World(entries=[taken])
    world.broker.make("org__x", "elsewhere")
    (told,) = await create(world.gateway(), "org:", configs={"gateway.adopt": "true"})
    assert told.code == 17
    assert "'org__x'" in told.message
    assert "'org:x' is taken" in told.message


async def test_a_topic_with_an_entry_is_not_captured() -> None:
    moved = TopicEntry("org..x", LogicalName("", "x"))
    world = World(entries=[moved])
    world.broker.make("org..x")
    assert codes(await create(world.gateway(), "org:")) == [0]
    assert world.snapshot.topics == {"org..x": moved}


@pytest.mark.parametrize("adopt", [{}, {"gateway.adopt": "true"}])
@pytest.mark.parametrize(
    ("path", "flat"),
    [
        ("dr:a", "dr.a..mm2-configs.A.internal"),
        ("dr:a", "dr.a..A.checkpoints.internal"),
        # By an alias that begins with the other character that Kafka takes as equal to a dot.
        ("mm2-configs", "mm2-configs._A.internal"),
    ],
)
async def test_mirrormakers_own_topics_are_never_captured(
    path: str, flat: str, adopt: dict[str, str | None]
) -> None:
    world = World()
    prefix = flat[:5] if path == "dr:a" else "mm2-configs."
    world.broker.make(flat, f"{prefix}.orders.internal")
    (told,) = await create(world.gateway(), f"{path}:", configs=adopt)
    assert told.code == 17
    assert f"would take over topics of MirrorMaker's own: '{flat}'." in told.message
    assert "orders.internal" not in told.message
    assert "gateway.adopt" not in told.message
    assert not world.log.decisions


async def test_users_topics_that_end_in_internal_are_adopted() -> None:
    world = World()
    world.broker.make("org..orders.internal", "org..x-internal", "org..mm2x.internal.y")
    world.broker.make("mm2-team..orders.internal")
    for path in ("org:", "mm2-team:"):
        (told,) = await create(world.gateway(), path)
        assert "gateway.adopt=true" in told.message
        (told,) = await create(world.gateway(), path, configs={"gateway.adopt": "true"})
        assert told.code == 0


async def test_mirrormakers_own_topics_are_not_named_to_a_home_that_does_not_see_them() -> None:
    world = World(["team-a"])
    world.broker.make("team-a.sub..mm2-configs.secret.internal")
    gateway = world.gateway()
    (told,) = await create(gateway, "sub:", view=gateway.view("team-a"))
    assert told.code == 17
    assert "MirrorMaker's own: 1 that you do not see here" in told.message
    assert "secret" not in told.message


async def test_a_home_neither_sees_nor_adopts_what_is_outside() -> None:
    world = World(["team-a"])
    world.broker.make("team-a.sub..secret")
    gateway = world.gateway()
    view = gateway.view("team-a")
    (told,) = await create(gateway, "sub:", view=view)
    assert told.code == 17
    assert "secret" not in told.message
    assert "1 that you do not see here" in told.message
    (told,) = await create(gateway, "sub:", view=view, configs={"gateway.adopt": "true"})
    assert told.code == 17
    assert "secret" not in told.message
    assert set(world.snapshot.namespaces) == {"team-a"}


async def test_a_home_makes_namespaces_below_it_alone() -> None:
    world = World(["team-a"])
    gateway = world.gateway()
    view = gateway.view("team-a")
    assert codes(await create(gateway, "sub:", view=view)) == [0]
    assert codes(await create(gateway, ":out:", "team-b:", view=view)) == [17, 0]
    assert set(world.snapshot.namespaces) == {"team-a", "team-a:sub", "team-a:team-b"}
    (told,) = await create(gateway, "sub:", view=view)
    assert told.message == "Namespace 'sub' already exists."


async def test_a_home_that_is_gone_is_not_made_again_from_inside() -> None:
    world = World()
    gateway = world.gateway()
    (told,) = await create(gateway, "sub:", view=gateway.view("team-a"))
    assert told.code == 17
    assert told.message.startswith("InvalidNamespaceException")
    assert not world.snapshot.namespaces


async def test_nothing_is_made_in_a_namespace_that_is_being_deleted() -> None:
    world = World(["org:apache"])
    world.log.append([Namespace("org", deleting=world.clock())])
    gateway = world.gateway()
    told = await create(gateway, "org:", "org:new:", "org:apache:")
    assert codes(told) == [17, 17, 17]
    assert all("'org' is being deleted" in each.message for each in told)


async def test_two_gateways_that_make_the_same_never_both_win() -> None:
    world = World()
    first, second = world.gateway(), world.gateway()
    other: list[int] = []

    async def in_between() -> None:
        other.extend(codes(await create(second, "org:a:")))

    world.step = once("change", in_between)
    assert [codes(await create(first, "org:a:")), other] == [[36], [0]]
    assert len(world.log.decisions) == 1


async def test_a_tier_that_somebody_else_makes_meanwhile_is_theirs() -> None:
    world = World()
    first, second = world.gateway(), world.gateway()
    world.step = once("change", lambda: create(second, "org:", configs={"retention.ms": "5"}))
    assert codes(await create(first, "org:a:")) == [0]
    assert world.snapshot.namespaces["org"].configs == {"retention.ms": "5"}
    assert "org:a" in world.snapshot.namespaces


async def test_a_topic_learnt_between_listing_and_commit_is_not_captured_unseen() -> None:
    world = World()
    gateway = world.gateway()

    def learn() -> None:
        world.broker.make("org..x")
        gateway.cluster.index.learn(b"org..x", None)

    world.step = once("change", learn)
    (told,) = await create(gateway, "org:")
    assert told.code == 7
    assert not world.snapshot.namespaces


async def test_unavailable_catalog_and_cluster_are_told_apart_and_retriable() -> None:
    world = World()
    gateway = world.gateway()
    gateway.catalog.down = True
    (told,) = await create(gateway, "org:")
    assert (told.code, "catalog" in told.message) == (7, True)
    gateway.catalog.down = False
    world.broker.down = True
    (told,) = await create(gateway, "org:")
    assert (told.code, "10.0.0.1" in told.message) == (7, False)
    assert not world.log.decisions
