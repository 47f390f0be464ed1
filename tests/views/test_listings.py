"""Listings: which names a principal may list, kept while valid, and for a limited number of
principals."""

from __future__ import annotations

import gc

from gateway.catalog.snapshot import Snapshot
from gateway.topic_ids import TopicIndex
from gateway.views.access import Access
from gateway.views.authorized_access import AuthorizedAccess
from gateway.views.view import View, ViewSettings
from gateway.views.views import MAX_LISTINGS, Listings
from tests.session.allowing import Allowing

TOPICS = ("team-a..y", "team-a..x", "plain", "__consumer_offsets", "team-b..x")
SNAPSHOT = Snapshot.of(["team-a", "team-b"])


def index(*more: str) -> TopicIndex:
    made = TopicIndex()
    topics = (*TOPICS, *more)
    made.replace([(name.encode(), bytes([n]) * 16) for n, name in enumerate(topics, start=1)])
    return made


def access(principal: str, *allowed: str, home: str = "", host: str = "10.0.0.1") -> Access:
    view = View(ViewSettings("test", home=home, list_subtree=not home), SNAPSHOT)
    return AuthorizedAccess(view, principal, host, Allowing(allowed))


def everything(home: str = "") -> Access:
    return Access(View(ViewSettings("test", home=home, list_subtree=not home), SNAPSHOT), "", "")


def test_all_that_the_view_lists_without_an_authorizer() -> None:
    made = Listings()
    assert made.of(everything(), index()).names == ["plain", "team-a:x", "team-a:y", "team-b:x"]
    assert made.of(everything("team-a"), index()).names == ["x", "y"]


def test_only_what_may_be_described() -> None:
    alice = access("User:alice", "DESCRIBE TOPIC team-a:x", "READ TOPIC plain")
    assert Listings().of(alice, index()).names == ["team-a:x"]
    at_home = access("User:bob", "DESCRIBE TOPIC team-a:y", "DESCRIBE TOPIC plain", home="team-a")
    assert Listings().of(at_home, index()).names == ["y"]


def test_a_listing_is_kept_while_nothing_changes() -> None:
    made, topics, alice = Listings(), index(), access("User:alice", "DESCRIBE TOPIC plain")
    assert made.of(alice, topics) is made.of(alice, topics)


def test_a_change_that_this_principal_does_not_see_leaves_the_version() -> None:
    made, topics, alice = Listings(), index(), access("User:alice", "DESCRIBE TOPIC plain")
    before = made.of(alice, topics)
    topics.learn(b"team-b..new", b"\x77" * 16)
    after = made.of(alice, topics)
    assert after is not before
    assert (after.names, after.version) == (before.names, before.version)


def test_a_change_that_it_sees_makes_the_version_grow() -> None:
    made, topics = Listings(), index()
    alice = access("User:alice", "DESCRIBE TOPIC plain", "DESCRIBE TOPIC new")
    before = made.of(alice, topics)
    topics.learn(b"new", b"\x77" * 16)
    after = made.of(alice, topics)
    assert after.names == ["new", "plain"]
    assert after.version > before.version


def test_other_acls_make_another_listing() -> None:
    made, topics = Listings(), index()
    before = made.of(access("User:alice", "DESCRIBE TOPIC plain"), topics)
    after = made.of(access("User:alice", "DESCRIBE TOPIC team-b:x"), topics)
    assert after.names == ["team-b:x"]
    assert after.version > before.version


def test_principals_hosts_and_homes_each_have_their_own() -> None:
    made, topics = Listings(), index()
    everyone = [
        access("User:alice", "DESCRIBE TOPIC plain"),
        access("User:bob", "DESCRIBE TOPIC team-b:x"),
        access("User:alice", "DESCRIBE TOPIC team-a:x", host="10.0.0.2"),
        access("User:alice", "DESCRIBE TOPIC team-a:y", home="team-a"),
    ]
    first = [made.of(each, topics) for each in everyone]
    assert [one.names for one in first] == [["plain"], ["team-b:x"], ["team-a:x"], ["y"]]
    assert [made.of(each, topics) for each in everyone] == first
    assert len({one.version for one in first}) == len(everyone)


def test_the_one_that_listed_longest_ago_goes() -> None:
    made, topics = Listings(), index()
    everyone = [access(f"User:{n}", "DESCRIBE TOPIC plain") for n in range(MAX_LISTINGS)]
    first = [made.of(each, topics) for each in everyone]
    assert made.of(everyone[0], topics) is first[0]  # and so it has listed last
    made.of(access("User:more", "DESCRIBE TOPIC plain"), topics)
    assert made.of(everyone[0], topics) is first[0]
    assert made.of(everyone[2], topics) is first[2]
    again = made.of(everyone[1], topics)
    assert again is not first[1]
    assert again.version > max(one.version for one in first)


def test_a_listing_of_a_request_that_waits_holds_what_it_lists_alone() -> None:
    """Requests hold their listings while a broker does not respond: for many clients at once, on a
    cluster of many topics, of which each sees a few."""
    made, topics = Listings(), index()
    alice = access("User:alice", "DESCRIBE TOPIC plain")
    replaced = made.of(alice, topics)
    topics.learn(b"new", bytes([9]) * 16)
    assert made.of(alice, topics) is not replaced
    everyone = [access(f"User:{n}", "DESCRIBE TOPIC plain") for n in range(MAX_LISTINGS + 1)]
    evicted = made.of(everyone[0], topics)
    for each in everyone[1:]:
        made.of(each, topics)
    for listing in (replaced, evicted):
        held = [one for one in gc.get_referents(listing) if isinstance(one, dict)]
        assert sum(map(len, held)) == len(listing.shown) == 1
