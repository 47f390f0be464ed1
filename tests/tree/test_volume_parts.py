"""Requests divided by volume, and the responses merged: no item is lost or doubled."""

from __future__ import annotations

import datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.exchanges.api import Api
from gateway.tree.volume_parts import divide, merge
from protocol import messages
from tests.rules.apis import api_named
from tests.rules.volume_cases import (
    ARRAYS,
    LA,
    OSLO,
    OWN,
    ByPrefix,
    answer,
    answered,
    arrays,
    asked,
    body_of,
    named,
    sent,
    serve,
)

TOPICS = ["clicks", "oslo/clicks", "la:tracking/a", "b", "oslo/z", "la:tracking/c", "a"]
"""In an order that is no volume's."""

IDS = {UUID(int=1): OWN, UUID(int=2): LA, UUID(int=3): OSLO}
NAMES = ByPrefix(ids=IDS)
NOT_THERE_YET = UUID(int=99)


VERSIONS = [
    pytest.param(api, version, id=f"{api.name}-{version}")
    for api in map(api_named, ARRAYS)
    for version in api.versions
    if api.name != "FindCoordinator" or version >= 4
]


@pytest.mark.parametrize(("api", "version"), VERSIONS)
def test_divided_and_merged_is_the_undivided_answer(api: Api, version: int) -> None:
    body = body_of(api, version, TOPICS)
    parts = divide(api, version, body, NAMES)
    assert parts is not None
    assert {each: named(api, version, part) for each, part in parts.bodies.items()} == {
        OWN: ["clicks", "b", "a"],
        OSLO: ["oslo/clicks", "oslo/z"],
        LA: ["la:tracking/a", "la:tracking/c"],
    }
    answers = {each: serve(api, version, part) for each, part in parts.bodies.items()}
    merged = answered(api, version, merge(api, parts, answers))
    assert merged == answered(api, version, serve(api, version, body))


@pytest.mark.parametrize(("api", "version"), VERSIONS)
def test_every_part_is_the_request_but_for_its_items(api: Api, version: int) -> None:
    array, _ = arrays(api, version)
    body = body_of(api, version, TOPICS)
    parts = divide(api, version, body, NAMES)
    assert parts is not None
    for part in parts.bodies.values():
        read = sent(api, version, part)
        assert messages.changed(read, {array: ()}) == messages.changed(
            sent(api, version, body), {array: ()}
        )


@pytest.mark.parametrize(("api", "version"), VERSIONS)
def test_a_request_that_stays_at_home_is_not_divided(api: Api, version: int) -> None:
    assert divide(api, version, body_of(api, version, ["clicks", "b"]), NAMES) is None
    assert divide(api, version, body_of(api, version, []), NAMES) is None


@pytest.mark.parametrize(("api", "version"), VERSIONS)
def test_a_request_of_one_other_volume_is_that_volumes_as_it_is(api: Api, version: int) -> None:
    body = body_of(api, version, ["oslo/z", "oslo/clicks"])
    parts = divide(api, version, body, NAMES)
    assert parts is not None
    assert (parts.only, parts.bodies) == (OSLO, {OSLO: body})
    theirs = serve(api, version, body, throttled=3)
    assert merge(api, parts, {OSLO: theirs}) == theirs


@given(names=st.lists(st.sampled_from(TOPICS)), data=st.data())
@pytest.mark.parametrize("name", ARRAYS)
def test_any_list_is_answered_item_by_item_in_its_order(
    name: str, names: list[str], data: st.DataObject
) -> None:
    api = api_named(name)
    first = 4 if name == "FindCoordinator" else api.first
    version = data.draw(st.integers(first, api.last))
    body = body_of(api, version, names)
    parts = divide(api, version, body, NAMES)
    if parts is None:
        assert all("/" not in each for each in names)
        return
    assert sorted(names) == sorted(
        each for part in parts.bodies.values() for each in named(api, version, part)
    )
    answers = {each: serve(api, version, part) for each, part in parts.bodies.items()}
    if not name.endswith("Acls"):  # other items are told apart by their names
        _, array = arrays(api, version)
        for volume, each in answers.items():
            read = answered(api, version, each)
            shuffled = tuple(data.draw(st.permutations(getattr(read, array))))
            answers[volume] = messages.write(messages.changed(read, {array: shuffled}))
    merged = answered(api, version, merge(api, parts, answers))
    whole = answered(api, version, serve(api, version, body))
    if parts.only is None:
        assert merged == whole


@pytest.mark.parametrize("name", ["CreateTopics", "DeleteTopics", "CreatePartitions"])
def test_a_topic_that_is_named_twice_is_answered_as_its_cluster_does(name: str) -> None:
    # A controller answers it once (ControllerApis: "Duplicate topic name").
    api = api_named(name)
    body = body_of(api, api.last, ["oslo/z", "b", "oslo/z"])
    parts = divide(api, api.last, body, NAMES)
    assert parts is not None
    assert named(api, api.last, parts.bodies[OSLO]) == ["oslo/z", "oslo/z"]
    _, array = arrays(api, api.last)
    answers = {
        OSLO: answer(api, api.last, array, [{"name": "oslo/z", "error_code": 42}]),
        OWN: answer(api, api.last, array, [{"name": "b"}]),
    }
    merged = getattr(answered(api, api.last, merge(api, parts, answers)), array)
    assert [(each.name, int(each.error_code)) for each in merged] == [("oslo/z", 42), ("b", 0)]


@pytest.mark.parametrize(("api", "version"), VERSIONS)
def test_the_longest_throttle_time_is_the_merged_ones(api: Api, version: int) -> None:
    parts = divide(api, version, body_of(api, version, TOPICS), NAMES)
    assert parts is not None
    answers = {
        each: serve(api, version, part, throttled=len(each)) for each, part in parts.bodies.items()
    }
    merged = answered(api, version, merge(api, parts, answers))
    if hasattr(merged, "throttle_time"):
        assert merged.throttle_time == datetime.timedelta(milliseconds=len(LA))


@pytest.mark.parametrize("name", ["Metadata", "DeleteTopics"])
def test_topics_by_id_are_their_volumes_and_unknown_ones_the_listeners(name: str) -> None:
    api = api_named(name)
    ids = [UUID(int=3), NOT_THERE_YET, UUID(int=2), UUID(int=1)]
    topics = [{"topic_id": each, "name": None} for each in ids]
    parts = divide(api, api.last, asked(api, api.last, {"topics": topics}), NAMES)
    assert parts is not None
    _, array = ARRAYS[name]
    answers = {}
    for volume, part in parts.bodies.items():
        wanted = [each.topic_id for each in sent(api, api.last, part).topics]
        assert {IDS.get(each, OWN) for each in wanted} == {volume}
        # In any order, and with the names that a broker adds.
        shown = [{"topic_id": each, "name": f"of {each}"} for each in reversed(wanted)]
        answers[volume] = answer(api, api.last, array, shown)
    merged = getattr(answered(api, api.last, merge(api, parts, answers)), array)
    assert [each.topic_id for each in merged] == ids


@pytest.mark.parametrize("version", [0, 3])
def test_a_coordinators_only_key_takes_the_request_along(version: int) -> None:
    api = api_named("FindCoordinator")
    there = asked(api, version, {"key": "oslo/workers"})
    parts = divide(api, version, there, NAMES)
    assert parts is not None
    assert parts.bodies == {OSLO: there}
    assert divide(api, version, asked(api, version, {"key": "workers"}), NAMES) is None


def test_share_group_keys_stay_with_the_listeners_volume() -> None:
    api = api_named("FindCoordinator")
    values = {"coordinator_keys": ["oslo/workers"], "key_type": 2}
    assert divide(api, 6, asked(api, 6, values), NAMES) is None


def test_a_missing_answer_is_named() -> None:
    api = api_named("Metadata")
    parts = divide(api, 13, body_of(api, 13, ["oslo/a", "b"]), NAMES)
    assert parts is not None
    with pytest.raises(LookupError, match=":oslo"):
        merge(api, parts, {OWN: answer(api, 13, "topics", [])})


def test_results_by_position_keep_their_places() -> None:
    api = api_named("CreateAcls")
    parts = divide(api, 3, body_of(api, 3, ["oslo/a", "b", "oslo/c", "d"]), NAMES)
    assert parts is not None
    answers = {
        OSLO: answer(api, 3, "results", [{"error_code": 31}]),
        OWN: answer(api, 3, "results", [{"error_code": 0}, {"error_code": 42}]),
    }
    codes = [int(each.error_code) for each in answered(api, 3, merge(api, parts, answers)).results]
    assert codes == [31, 0, -1, 42]


def test_an_acl_filter_takes_the_request_along() -> None:
    api = api_named("DescribeAcls")
    values = {"resource_type_filter": 2, "resource_name_filter": "oslo/a"}
    body = asked(api, 3, values)
    parts = divide(api, 3, body, NAMES)
    assert parts is not None
    assert (parts.only, parts.bodies) == (OSLO, {OSLO: body})
    assert divide(api, 3, asked(api, 3, {"resource_type_filter": 2}), NAMES) is None


def test_config_resources_are_divided_by_their_type() -> None:
    api = api_named("DescribeConfigs")
    kinds = [(2, "oslo/a"), (32, "la:tracking/g"), (4, "oslo/1"), (2, "b")]
    resources = [{"resource_type": kind, "resource_name": name} for kind, name in kinds]
    parts = divide(api, 4, asked(api, 4, {"resources": resources}), NAMES)
    assert parts is not None
    assert {
        volume: [each.resource_name for each in sent(api, 4, part).resources]
        for volume, part in parts.bodies.items()
    } == {OSLO: ["oslo/a"], LA: ["la:tracking/g"], OWN: ["oslo/1", "b"]}


def test_other_apis_are_not_divided() -> None:
    api = api_named("ListOffsets")
    with pytest.raises(LookupError, match="ListOffsets"):
        divide(api, api.last, asked(api, api.last, {}), NAMES)
