"""The rights that creating and deleting in namespaces needs."""

from __future__ import annotations

from gateway.acl_model import CLUSTER
from gateway.catalog.entities import Alias, Namespace, TopicEntry
from gateway.exchanges.exchange import Refresh
from gateway.names import LogicalName
from protocol import messages
from protocol.messages import element_class, make
from tests.session.allowing import Allowing
from tests.session.changing import (
    BAD_REQUEST,
    DONE,
    EXISTS,
    FORBIDDEN,
    FORBIDDEN_CLUSTER,
    INVALID,
    INVALID_CONFIG,
    create,
    delete,
    pair,
)
from tests.session.pair import request_frame

KEPT = "User:alice is not allowed to DELETE all that is in this namespace."


# -- creation --------------------------------------------------------------------------------------


async def test_a_namespace_is_made_with_the_tiers_that_are_missing() -> None:
    one = pair("CREATE TOPIC org:", "CREATE TOPIC org:x:", namespaces=["team-a"])
    made = await create(one, "org:x:")
    assert made["org:x:"][0] == DONE
    assert set(one.catalog.snapshot.namespaces) == {"team-a", "org", "org:x"}


async def test_every_missing_tier_counts() -> None:
    one = pair("CREATE TOPIC org:x:", namespaces=["team-a"])
    code, message = (await create(one, "org:x:"))["org:x:"]
    assert (code, message) == (FORBIDDEN, "User:alice is not allowed to CREATE topic 'org:'.")
    assert set(one.catalog.snapshot.namespaces) == {"team-a"}


async def test_tiers_that_exist_do_not_count() -> None:
    one = pair("CREATE TOPIC org:x:", namespaces=["org"])
    assert (await create(one, "org:x:"))["org:x:"][0] == DONE


async def test_the_cluster_makes_outermost_namespaces_only() -> None:
    one = pair(f"CREATE {CLUSTER}", namespaces=["team-a"])
    made = await create(one, "org:", "team-a:sub:", "other:sub:")
    assert {name: code for name, (code, _) in made.items()} == {
        "org:": DONE,
        "team-a:sub:": FORBIDDEN,
        "other:sub:": FORBIDDEN,
    }
    assert set(one.catalog.snapshot.namespaces) == {"team-a", "org"}


async def test_who_may_not_make_a_namespace_is_not_told_that_it_exists() -> None:
    one = pair("CREATE TOPIC team-b:")
    made = await create(one, "team-a:", "team-b:")
    assert made["team-a:"][0] == FORBIDDEN
    assert made["team-b:"][0] == EXISTS


async def test_adopting_topics_is_the_clusters_business() -> None:
    one = pair("CREATE TOPIC crm:", f"CREATE {CLUSTER}", topics=["crm..x"])
    adopt = {"gateway.adopt": "true"}
    assert (await create(one, "crm:", configs=adopt))["crm:"][0] == FORBIDDEN_CLUSTER
    assert "crm" not in one.catalog.snapshot.namespaces
    assert (await create(one, "crm:"))["crm:"][0] == INVALID
    one.authorizer = Allowing(["CREATE TOPIC crm:", f"ALTER {CLUSTER}"])
    one.catalog_changed()
    assert (await create(one, "crm:", configs=adopt))["crm:"][0] == DONE
    assert "crm" in one.catalog.snapshot.namespaces


async def test_topics_in_the_way_are_named_to_those_who_may_describe_them() -> None:
    making = f"CREATE {CLUSTER}", "CREATE TOPIC new:"
    for allowed, named in (
        (["DESCRIBE TOPIC new..a"], "topics: 'new..a'; 1 that you do not see here."),
        ([], "names: 2 that you do not see here."),
    ):
        one = pair(*making, *allowed, topics=["new..a", "new..b"], namespaces=["team-a"])
        code, message = (await create(one, "new:"))["new:"]
        assert code == INVALID
        assert message.startswith(f"Namespace 'new' would take over existing {named}")


async def test_so_are_names_of_topics_that_are_stored_elsewhere() -> None:
    """Their ACLs are the main name's."""
    moved = TopicEntry("t", LogicalName("", "new..foo"))
    aliased = TopicEntry(
        "new..bar",
        LogicalName("team-a", "bar"),
        aliases=(Alias(LogicalName("", "new..bar"), 2**50),),
    )
    making = f"CREATE {CLUSTER}", "CREATE TOPIC new:"
    both = "DESCRIBE TOPIC new..foo", "DESCRIBE TOPIC team-a:bar"
    for allowed, named in (
        (both, "'new..bar', 'new..foo'."),
        (both[1:], "'new..bar', 1 more."),
        (["DESCRIBE TOPIC new..bar"], "2 that you do not see here."),
    ):
        one = pair(
            *making,
            *allowed,
            topics=["t", "new..bar"],
            entries=[moved, aliased],
            namespaces=["team-a"],
        )
        code, message = (await create(one, "new:"))["new:"]
        assert code == INVALID
        assert f"names of topics that were moved: {named}" in message


async def test_an_allowed_topic_is_made_beside_a_forbidden_one() -> None:
    one = pair("CREATE TOPIC team-a:new")
    made = await create(one, "team-a:new", "team-b:new", configs={"gateway.nothing": "1"})
    assert made["team-b:new"][0] == FORBIDDEN
    assert made["team-a:new"][0] == INVALID_CONFIG  # it was looked at
    assert "team-b..new" not in one.broker.topics


async def test_a_namespace_that_is_going_has_no_room() -> None:
    one = pair("CREATE TOPIC org:x:", "CREATE TOPIC org:")
    one.log.append([Namespace("org", deleting=1)])
    one.catalog_changed()
    assert (await create(one, "org:x:"))["org:x:"][0] == INVALID  # it is being deleted
    assert "org:x" not in one.catalog.snapshot.namespaces


# -- deletion --------------------------------------------------------------------------------------


async def test_a_namespace_goes_with_all_that_is_in_it() -> None:
    one = pair("DELETE TOPIC team-b:", "DELETE TOPIC team-b:x")
    assert (await delete(one, "team-b:"))["team-b:"][0] == DONE
    assert one.catalog.snapshot.namespaces["team-b"].deleting is not None


async def test_one_topic_that_may_not_be_deleted_keeps_its_namespace() -> None:
    one = pair("DELETE TOPIC team-b:", "DESCRIBE TOPIC team-b:x")
    code, message = (await delete(one, "team-b:"))["team-b:"]
    assert (code, message) == (FORBIDDEN, KEPT)
    assert one.catalog.snapshot.namespaces["team-b"].deleting is None


async def test_a_topic_that_may_not_be_described_is_not_named_either() -> None:
    one = pair("DELETE TOPIC team-b:")
    code, message = (await delete(one, "team-b:"))["team-b:"]
    assert code == FORBIDDEN
    assert message == KEPT
    (event,) = one.worker.denials
    assert event.named == "TOPIC team-b:x"


async def test_a_topic_that_was_moved_into_a_namespace_counts() -> None:
    moved = TopicEntry("plain", LogicalName("team-b", "moved"))
    allowed = ["DELETE TOPIC team-b:", "DELETE TOPIC team-b:x", "DELETE TOPIC plain"]
    one = pair(*allowed, entries=[moved])
    assert (await delete(one, "team-b:"))["team-b:"][0] == FORBIDDEN
    one = pair(*allowed, "DELETE TOPIC team-b:moved", entries=[moved])
    assert (await delete(one, "team-b:"))["team-b:"][0] == DONE


async def test_every_namespace_of_a_request_counts_for_itself() -> None:
    one = pair("DELETE TOPIC org:", "DELETE TOPIC org:apache:", namespaces=["org:apache"])
    assert {n: code for n, (code, _) in (await delete(one, "org:", "org:apache:")).items()} == {
        "org:": DONE,
        "org:apache:": DONE,
    }
    one = pair("DELETE TOPIC org:", namespaces=["org:apache"])
    answers = await delete(one, "org:", "org:apache:")
    assert answers["org:apache:"][0] == FORBIDDEN
    assert answers["org:"][0] == BAD_REQUEST  # another namespace is in it
    assert one.catalog.snapshot.namespaces["org"].deleting is None


def test_topics_are_listed_before_a_namespace_is_found_to_be_empty() -> None:
    one = pair("DELETE TOPIC team-b:", topics=[])
    cls = messages.message_class("DeleteTopicsRequest", 6)
    topic = make(element_class(cls, "topics"), {"name": "team-b:"})
    one.session.client_data(request_frame("DeleteTopics", 6, make(cls, {"topics": (topic,)})))
    assert one.session.waiting is Refresh.TOPICS
    one.facts.index.learn(b"team-b..late", b"\x07" * 16)
    one.resume()
    (told,) = one.answer("DeleteTopics", 6).responses
    assert told.error_code == FORBIDDEN


async def test_a_moved_topic_is_deleted_by_the_right_to_its_own_name() -> None:
    name = LogicalName("team-b", "orders")
    alias = Alias(LogicalName("team-a", "orders"), 1 << 60)
    moved = TopicEntry("team-a..orders", name, aliases=(alias,))
    one = pair("DELETE TOPIC team-a:orders", entries=[moved])
    assert (await delete(one, "team-a:orders"))["team-a:orders"][0] == FORBIDDEN
    one = pair("DELETE TOPIC team-b:orders", entries=[moved])
    code, message = (await delete(one, "team-a:orders"))["team-a:orders"]
    assert (code, "alias of topic 'team-b:orders'" in message) == (BAD_REQUEST, True)
    assert (await delete(one, "team-b:orders"))["team-b:orders"][0] == DONE
