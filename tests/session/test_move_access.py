"""The rights to move and configure topics, to configure namespaces and to set their homes."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.acl_model import CLUSTER
from gateway.catalog.entities import Alias, TopicEntry
from gateway.names import LogicalName
from tests.session.changing import (
    BAD_REQUEST,
    DONE,
    FORBIDDEN,
    FORBIDDEN_CLUSTER,
    SET,
    alter,
    move,
    pair,
)
from tests.session.pair import Pair


def home_of(one: Pair, path: str) -> list[str]:
    homes = one.catalog.snapshot.homes
    return sorted(principal for principal, home in homes.items() if home == path)


# -- moves -----------------------------------------------------------------------------------------


def owner(one: Pair, flat: str) -> str:
    return str(one.catalog.snapshot.owner(flat))


async def test_a_move_needs_alter_on_both_namespaces() -> None:
    both = "ALTER TOPIC team-a:", "ALTER TOPIC team-b:"
    one = pair(*both)
    code, message = await move(one, "team-a:orders", "team-b")
    assert (code, message) == (
        FORBIDDEN,
        "User:alice is not allowed to CREATE topic 'team-b:orders'.",
    )
    one = pair(*both, "CREATE TOPIC team-b:orders")
    assert (await move(one, "team-a:orders", "team-b"))[0] == DONE
    assert owner(one, "team-a..orders") == "team-b:orders"


@pytest.mark.parametrize(
    ("allowed", "lacking"), [("team-a:", "team-b:"), ("team-b:", "team-a:"), ("plain", "team-a:")]
)
async def test_one_of_them_is_not_enough(allowed: str, lacking: str) -> None:
    more = "ALTER TOPIC team-a:orders", "ALTER_CONFIGS TOPIC team-a:orders", f"ALTER {CLUSTER}"
    one = pair(f"ALTER TOPIC {allowed}", *more)
    code, message = await move(one, "team-a:orders", "team-b")
    assert (code, message) == (
        FORBIDDEN,
        f"User:alice is not allowed to ALTER topic '{lacking}'.",
    )
    assert owner(one, "team-a..orders") == "team-a:orders"


async def test_from_the_default_namespace_the_topics_own_acls_count() -> None:
    there = "ALTER TOPIC team-a:", "CREATE TOPIC team-a:renamed"
    one = pair("ALTER TOPIC plain", f"ALTER {CLUSTER}", *there)
    assert (await move(one, "plain", "team-a", gateway__topic="renamed"))[0] == DONE
    assert owner(one, "plain") == "team-a:renamed"
    one = pair(f"ALTER {CLUSTER}", *there)
    assert (await move(one, "plain", "team-a", gateway__topic="renamed"))[0] == FORBIDDEN
    # ALTER on a topic does not allow granting rights to it.
    one = pair("ALTER TOPIC plain", *there)
    assert (await move(one, "plain", "team-a", gateway__topic="renamed"))[0] == FORBIDDEN
    assert owner(one, "plain") == "plain"


@pytest.mark.parametrize("right", ["CREATE TOPIC new", f"CREATE {CLUSTER}"])
async def test_to_the_default_namespace_it_is_as_if_it_was_made_there(right: str) -> None:
    one = pair("ALTER TOPIC team-a:", right)
    assert (await move(one, "team-a:orders", ":", gateway__topic="new"))[0] == DONE
    assert owner(one, "team-a..orders") == "new"
    one = pair("ALTER TOPIC team-a:", "CREATE TOPIC orders")
    assert (await move(one, "team-a:orders", ":", gateway__topic="new"))[0] == FORBIDDEN


async def test_a_release_gives_a_topic_the_name_that_it_is_stored_by() -> None:
    moved = TopicEntry("plain", LogicalName("team-b", "moved"))
    one = pair("ALTER TOPIC team-b:", "CREATE TOPIC plain", entries=[moved])
    assert (await alter(one, "team-b:moved", SET, gateway__release="true"))[0] == DONE
    assert owner(one, "plain") == "plain"
    one = pair("ALTER TOPIC team-b:", "CREATE TOPIC moved", entries=[moved])
    assert (await alter(one, "team-b:moved", SET, gateway__release="true"))[0] == FORBIDDEN


async def test_by_an_alias_the_namespace_that_the_topic_is_in_counts() -> None:
    alias = Alias(LogicalName("team-a", "orders"), 1 << 60)
    entry = TopicEntry("team-a..orders", LogicalName("team-b", "orders"), aliases=(alias,))
    one = pair("ALTER TOPIC team-a:", "ALTER TOPIC team-a:sub:", entries=[entry])
    code, message = await move(one, "team-a:orders", "team-a:sub")
    assert (code, message) == (FORBIDDEN, "User:alice is not allowed to ALTER this topic.")
    there = "ALTER TOPIC team-a:sub:", "CREATE TOPIC team-a:sub:orders"
    one = pair("ALTER TOPIC team-b:", *there, entries=[entry])
    assert (await move(one, "team-a:orders", "team-a:sub"))[0] == DONE


def moved_on() -> TopicEntry:
    """team-a:orders, which another client has moved to team-b, with an alias."""
    alias = Alias(LogicalName("team-a", "orders"), 1 << 60)
    return TopicEntry("team-a..orders", LogicalName("team-b", "orders"), aliases=(alias,))


async def test_what_is_moved_away_meanwhile_is_not_moved_from_there() -> None:
    there = "ALTER TOPIC team-a:sub:", "CREATE TOPIC team-a:sub:orders"
    one = pair("ALTER TOPIC team-a:", *there)
    told = await move(one, "team-a:orders", "team-a:sub", meanwhile=[moved_on()])
    assert told == (FORBIDDEN, "User:alice is not allowed to ALTER this topic.")
    assert owner(one, "team-a..orders") == "team-b:orders"
    (denial,) = one.worker.denials
    assert (denial.code, denial.resource) == (FORBIDDEN, "team-a:orders")


@pytest.mark.parametrize("api", ["IncrementalAlterConfigs", "AlterConfigs"])
async def test_what_is_moved_away_meanwhile_is_not_changed_there(api: str) -> None:
    one = pair("ALTER_CONFIGS TOPIC team-a:orders")
    code, _ = await alter(one, "team-a:orders", api=api, retention__ms="1", meanwhile=[moved_on()])
    assert code == FORBIDDEN
    assert one.broker.topics["team-a..orders"].configs == {}


async def test_a_move_inside_of_a_home() -> None:
    allowed = "ALTER TOPIC team-a:", "ALTER TOPIC team-a:sub:"
    made = "CREATE TOPIC team-a:sub:orders", "CREATE TOPIC team-a:orders"
    one = pair(*allowed, *made, home="team-a")
    assert (await move(one, "orders", "sub"))[0] == DONE
    assert owner(one, "team-a..orders") == "team-a:sub:orders"
    assert (await move(one, "sub:orders", ""))[0] == DONE
    assert owner(one, "team-a..orders") == "team-a:orders"
    one = pair("ALTER TOPIC sub:", "ALTER TOPIC team-a:", home="team-a")
    assert (await move(one, "orders", "sub"))[0] == FORBIDDEN


# -- configs ---------------------------------------------------------------------------------------


async def test_alter_is_no_right_to_configs() -> None:
    one = pair("ALTER TOPIC team-a:", "ALTER TOPIC team-a:orders", "CREATE TOPIC team-a:orders")
    assert (await alter(one, "team-a:orders", retention__ms="1"))[0] == FORBIDDEN
    present: dict[str, Any] = {"retention__ms": "1", "gateway__namespace": "team-a"}
    assert (await alter(one, "team-a:orders", api="AlterConfigs", **present))[0] == FORBIDDEN
    assert (await alter(one, "team-a:orders", **present))[0] == BAD_REQUEST  # a move stands alone
    assert one.broker.topics["team-a..orders"].configs == {}


async def test_who_writes_back_what_was_described_needs_no_right_to_move() -> None:
    one = pair("ALTER_CONFIGS TOPIC team-a:orders")
    present: dict[str, Any] = {"retention__ms": "1", "gateway__namespace": "team-a"}
    assert (await alter(one, "team-a:orders", api="AlterConfigs", **present))[0] == DONE
    assert one.broker.topics["team-a..orders"].configs == {"retention.ms": "1"}


async def test_a_namespaces_configs_are_its_own() -> None:
    one = pair("ALTER_CONFIGS TOPIC team-a:")
    assert (await alter(one, "team-a:", retention__ms="1"))[0] == DONE
    assert (await alter(one, "team-a:sub:", retention__ms="1"))[0] == FORBIDDEN
    assert (await alter(one, "nowhere:", retention__ms="1"))[0] == FORBIDDEN
    assert one.catalog.snapshot.namespaces["team-a"].configs == {"retention.ms": "1"}


async def test_under_a_home_its_own_configs_are_those_of_its_namespace() -> None:
    one = pair("ALTER_CONFIGS TOPIC team-a:", home="team-a", escape=True)
    assert (await alter(one, ":", retention__ms="1"))[0] == DONE
    assert one.catalog.snapshot.namespaces["team-a"].configs == {"retention.ms": "1"}
    one = pair("ALTER_CONFIGS TOPIC team-a:", home="team-a")
    assert (await alter(one, ":", retention__ms="1"))[0] == BAD_REQUEST  # from inside: never
    one = pair("ALTER_CONFIGS TOPIC team-a:sub:", f"ALTER_CONFIGS {CLUSTER}", home="team-a")
    assert (await alter(one, ":", retention__ms="1"))[0] == FORBIDDEN


async def test_whose_home_a_namespace_is_says_the_cluster() -> None:
    one = pair("ALTER_CONFIGS TOPIC team-a:", "ALTER TOPIC team-a:")
    code, message = await alter(one, "team-a:", gateway__principals="User:alice")
    assert (code, message) == (FORBIDDEN_CLUSTER, "User:alice is not allowed to ALTER cluster.")
    assert home_of(one, "team-a") == []
    one = pair(f"ALTER {CLUSTER}")
    assert (await alter(one, "team-a:", gateway__principals="User:alice"))[0] == FORBIDDEN
    one = pair(f"ALTER {CLUSTER}", "ALTER_CONFIGS TOPIC team-a:")
    assert (await alter(one, "team-a:", gateway__principals="User:alice"))[0] == DONE
    assert home_of(one, "team-a") == ["User:alice"]


@pytest.mark.parametrize("escape", [False, True])
@pytest.mark.parametrize("api", ["IncrementalAlterConfigs", "AlterConfigs"])
async def test_no_home_is_given_from_inside_of_one(api: str, escape: bool) -> None:
    allowed = f"ALTER {CLUSTER}", "ALTER_CONFIGS TOPIC team-a:", "ALTER_CONFIGS TOPIC team-a:sub:"
    one = pair(*allowed, home="team-a", escape=escape)
    for name in (":", "sub:"):
        assert (await alter(one, name, api=api, gateway__principals="User:eve"))[0] != DONE
    assert one.catalog.snapshot.homes == {}
