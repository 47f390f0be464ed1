"""The knowledge of a volume behind other gateways: by principal, by host, and bounded."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gateway.names import LogicalName
from gateway.referrals import far
from gateway.referrals.far import FarBroker, FarTopic, FarVolume

ALICE, BOB = "User:alice", "User:bob"
HOME, AWAY = "192.0.2.7", "192.0.2.8"
CLICKS = LogicalName("search", "clicks")
ID, OTHER_ID = bytes(15) + b"\x01", bytes(15) + b"\x02"
BROKER = FarBroker(2 << 16 | 1, "ny.example", 9092, "r1")
READ, DESCRIBE = 1 << 3, 1 << 8
"""Bits of AclOperation's codes: READ is 3, DESCRIBE 8."""


class Clock:
    def __init__(self) -> None:
        self.now = 5.0  # a machine that has just started

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def volume(clock: Clock) -> FarVolume:
    return FarVolume("ny", clock)


def see(
    volume: FarVolume, principal: str = ALICE, operations: int | None = READ | DESCRIBE
) -> None:
    volume.note_topic(principal, CLICKS, ID, 3, operations, host=HOME)


def test_a_topic_is_known_to_the_principal_that_saw_it_alone(volume: FarVolume) -> None:
    see(volume)
    assert volume.topic(ALICE, CLICKS) == FarTopic(ID, 3, READ | DESCRIBE)
    assert volume.topic(BOB, CLICKS) is None
    assert volume.describes(BOB, HOME, CLICKS) is None
    assert volume.rights(BOB, HOME, CLICKS) is None
    assert list(volume.topics()) == [(ALICE, CLICKS, FarTopic(ID, 3, READ | DESCRIBE))]


def test_rights_are_those_of_a_host(volume: FarVolume, clock: Clock) -> None:
    """ACLs have hosts, so rights at a host do not apply to another."""
    see(volume)
    clock.now += 7
    assert volume.rights(ALICE, HOME, CLICKS) == (READ | DESCRIBE, 7.0)
    assert volume.rights(ALICE, AWAY, CLICKS) is None
    volume.deny_topic(ALICE, AWAY, CLICKS)
    assert volume.rights(ALICE, AWAY, CLICKS) == (0, 0.0)
    assert volume.describes(ALICE, AWAY, CLICKS) is None
    assert volume.rights(ALICE, HOME, CLICKS) == (READ | DESCRIBE, 7.0)
    assert volume.describes(ALICE, HOME, CLICKS) is not None


@pytest.mark.parametrize(
    ("reported", "kept"), [(READ | DESCRIBE, READ | DESCRIBE), (DESCRIBE, DESCRIBE), (None, None)]
)
def test_a_version_without_ids_and_operations_takes_nothing_away(
    volume: FarVolume, reported: int | None, kept: int | None
) -> None:
    see(volume, operations=reported)
    volume.note_topic(ALICE, CLICKS, None, 4, None, host=HOME)
    assert volume.topic(ALICE, CLICKS) == FarTopic(ID, 4, kept)
    rights = volume.rights(ALICE, HOME, CLICKS)
    assert (None if rights is None else rights.operations) == kept


def test_a_topic_that_is_denied_is_not_shown_until_it_is_seen_again(volume: FarVolume) -> None:
    see(volume)
    volume.deny_topic(ALICE, HOME, CLICKS)
    assert volume.describes(ALICE, HOME, CLICKS) is None
    assert volume.describes(ALICE, AWAY, CLICKS) is None, "nothing was reported there since"
    volume.note_topic(ALICE, CLICKS, None, 3, None, host=HOME)  # operations were not requested
    assert volume.rights(ALICE, HOME, CLICKS) is None, "they are not known, and not none"
    assert volume.describes(ALICE, HOME, CLICKS) == FarTopic(ID, 3, None)


def test_a_denied_topic_that_was_never_seen_is_not_among_the_topics(volume: FarVolume) -> None:
    volume.deny_topic(ALICE, HOME, CLICKS)
    assert list(volume.topics()) == []
    assert volume.topic(ALICE, CLICKS) is None
    assert volume.rights(ALICE, HOME, CLICKS) == (0, 0.0)


def test_a_denied_principal_sees_nothing_that_it_saw_before(volume: FarVolume) -> None:
    volume.note_cluster(ALICE, 2, (BROKER,), "id", BROKER.node_id)
    see(volume)
    see(volume, BOB)
    volume.note_denied(ALICE)
    assert volume.is_denied(ALICE)
    assert not volume.shows(ALICE)
    assert volume.topic(ALICE, CLICKS) is None
    assert volume.describes(ALICE, HOME, CLICKS) is None
    assert volume.rights(ALICE, HOME, CLICKS) is None
    assert [principal for principal, _, _ in volume.topics()] == [BOB]
    assert volume.topic(BOB, CLICKS) is not None
    volume.note_accepted(ALICE)
    assert not volume.is_denied(ALICE)
    assert volume.topic(ALICE, CLICKS) is not None
    assert not volume.shows(ALICE), "that the owner says with its brokers"


def test_the_name_of_an_id_is_the_principals_own_if_it_has_seen_the_topic(
    volume: FarVolume,
) -> None:
    legal = LogicalName("", "search..clicks")  # the same topic, as another listener spells it
    volume.note_topic(ALICE, CLICKS, ID, 3)
    volume.note_topic(BOB, legal, ID, 3)
    assert volume.name_of(ID, ALICE) == CLICKS
    assert volume.name_of(ID, BOB) == legal
    assert volume.name_of(ID, "User:carol") == legal, "as it was seen last"
    assert volume.name_of(OTHER_ID, ALICE) is None
    volume.note_topic(ALICE, legal, ID, 3)
    assert volume.topic(ALICE, CLICKS) is not None, "both are names of one topic"


def test_a_topic_that_was_moved_is_known_by_its_new_name(volume: FarVolume) -> None:
    see(volume)
    moved = LogicalName("archive", "clicks")
    volume.note_topic(ALICE, moved, ID, 3)
    assert volume.topic(ALICE, CLICKS) is None
    assert volume.topic(ALICE, moved) is not None
    assert volume.name_of(ID, ALICE) == moved


def test_a_name_that_is_another_topics_by_now_is_not_forgotten_with_the_old_one(
    volume: FarVolume,
) -> None:
    see(volume)
    volume.note_topic(ALICE, CLICKS, OTHER_ID, 5)  # deleted, and made anew
    volume.forget_id(ALICE, ID)
    assert volume.topic(ALICE, CLICKS) == FarTopic(OTHER_ID, 5, READ | DESCRIBE)
    assert volume.name_of(OTHER_ID, ALICE) == CLICKS
    volume.forget_id(ALICE, OTHER_ID)
    assert volume.topic(ALICE, CLICKS) is None


def test_an_id_that_one_principal_may_not_see_is_still_known_to_others(volume: FarVolume) -> None:
    see(volume)
    volume.forget_id(BOB, ID)
    assert volume.topic(ALICE, CLICKS) is not None
    assert volume.name_of(ID, ALICE) == CLICKS


def test_questions_about_an_id_are_not_repeated_for_a_while(
    volume: FarVolume, clock: Clock
) -> None:
    assert volume.is_due(ALICE, ID)
    assert not volume.is_due(ALICE, ID)
    assert volume.is_due(BOB, ID), "what one principal asks takes nothing from others"
    assert volume.is_due(ALICE, OTHER_ID)
    clock.now += far.SOUGHT_SECONDS
    assert volume.is_due(ALICE, ID)


def test_brokers_are_shown_to_those_that_the_owner_showed_them(
    volume: FarVolume, clock: Clock
) -> None:
    assert volume.shown_age(ALICE) is None
    assert not volume.shows(ALICE)
    volume.note_cluster(ALICE, 2, (BROKER,), "id", BROKER.node_id)
    volume.note_cluster(BOB, 2, (), None, -1)
    assert (volume.shows(ALICE), volume.shows(BOB)) == (True, False)
    assert (volume.number, volume.brokers) == (2, (BROKER,)), "what another saw is still known"
    assert (volume.cluster_id, volume.controller_id) == ("id", BROKER.node_id)
    clock.now += 3
    assert volume.shown_age(ALICE) == 3
    volume.note_cluster(ALICE, 2, (BROKER,), None, BROKER.node_id)
    assert volume.cluster_id == "id", "a version without it takes nothing away"
    assert volume.shown_age(ALICE) == 0


def changes() -> list[tuple[Callable[[FarVolume], object], bool]]:
    return [
        (lambda v: see(v), False),
        (lambda v: see(v, operations=DESCRIBE), True),
        (lambda v: v.note_topic(ALICE, CLICKS, ID, 4), True),
        (lambda v: v.note_topic(ALICE, CLICKS, OTHER_ID, 3), True),
        (lambda v: see(v, BOB), True),
        (lambda v: v.forget_topic(ALICE, CLICKS), True),
        (lambda v: v.forget_topic(BOB, CLICKS), False),
        (lambda v: v.deny_topic(ALICE, HOME, CLICKS), True),
        (lambda v: v.note_denied(ALICE), True),
        (lambda v: v.note_cluster(ALICE, 2, (BROKER,), "id", BROKER.node_id), False),
        (lambda v: v.note_cluster(ALICE, 2, (BROKER,), "other", BROKER.node_id), True),
        (lambda v: v.note_cluster(ALICE, 2, (), None, -1), True),
        (lambda v: v.note_cluster(BOB, 2, (), None, -1), False),
        (lambda v: v.note_cluster(BOB, 2, (BROKER,), None, BROKER.node_id), True),
    ]


@pytest.mark.parametrize("place", range(len(changes())))
def test_the_version_grows_with_what_is_kept_on_disk(volume: FarVolume, place: int) -> None:
    """Rights that an owner has withdrawn must not come back with a restart."""
    change, grows = changes()[place]
    volume.note_cluster(ALICE, 2, (BROKER,), "id", BROKER.node_id)
    see(volume)
    before = volume.version
    change(volume)
    assert (volume.version > before) == grows


def test_memory_is_bounded_and_what_was_used_last_stays(
    volume: FarVolume, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit in ("MAX_TOPICS", "MAX_RIGHTS", "MAX_PRINCIPALS", "MAX_SOUGHT"):
        monkeypatch.setattr(far, limit, 2)
    see(volume)
    for n in range(9):
        name, topic_id = LogicalName("", f"t{n}"), bytes([n + 9]) * 16
        see(volume)  # used again and again
        volume.note_topic(BOB, name, topic_id, 1, DESCRIBE, host=HOME)
        volume.note_shown(f"User:{n}", shown=True)
        volume.note_denied(f"User:denied-{n}")
        volume.is_due(BOB, topic_id)
    assert [name for _, name, _ in volume.topics()] == [CLICKS, name]
    assert volume.rights(ALICE, HOME, CLICKS) is not None
    assert volume.name_of(ID, ALICE) == CLICKS
    assert volume.shows("User:0") is False
    sizes = {key: len(each) for key, each in vars(volume).items() if hasattr(each, "popitem")}
    assert max(sizes.values()) <= 4, sizes


def test_names_that_are_denied_do_not_push_out_topics(
    volume: FarVolume, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that requests names at random must not make others forget theirs."""
    monkeypatch.setattr(far, "MAX_TOPICS", 2)
    see(volume)
    for n in range(9):
        volume.deny_topic(BOB, HOME, LogicalName("", f"t{n}"))
    assert volume.topic(ALICE, CLICKS) is not None


def test_that_there_is_no_topic_is_known_to_whom_it_was_told(
    volume: FarVolume, clock: Clock
) -> None:
    volume.note_missing(ALICE, HOME, CLICKS)
    clock.now += 7
    assert volume.missing_age(ALICE, HOME, CLICKS) == 7.0
    assert volume.missing_age(ALICE, AWAY, CLICKS) is None
    assert volume.missing_age(BOB, HOME, CLICKS) is None
    volume.note_denied(ALICE)
    assert volume.missing_age(ALICE, HOME, CLICKS) is None
    volume.note_accepted(ALICE)
    volume.deny_topic(ALICE, HOME, CLICKS)
    assert volume.missing_age(ALICE, HOME, CLICKS) is None
    volume.note_missing(ALICE, HOME, CLICKS)
    assert volume.rights(ALICE, HOME, CLICKS) is None
    see(volume)
    assert volume.missing_age(ALICE, HOME, CLICKS) is None
