"""Metadata of several volumes: fields that are not topics, and responses that are a single
error."""

from __future__ import annotations

import pytest

from gateway.tree.volume_parts import divide, merge
from tests.rules.apis import api_named
from tests.rules.volume_cases import OSLO, OWN, ByPrefix, answer, answered, asked, body_of

NAMES = ByPrefix()


@pytest.mark.parametrize("version", range(14))
def test_metadata_of_all_topics_is_the_listeners_volumes(version: int) -> None:
    api = api_named("Metadata")
    all_topics = () if version == 0 else None
    assert divide(api, version, asked(api, version, {"topics": all_topics}), NAMES) is None


def test_the_listeners_volume_tells_of_the_cluster() -> None:
    api = api_named("Metadata")
    parts = divide(api, 13, body_of(api, 13, ["oslo/a", "b"]), NAMES)
    assert parts is not None
    answers = {
        OSLO: answer(api, 13, "topics", [{"name": "oslo/a"}], cluster_id="theirs", error_code=129),
        OWN: answer(api, 13, "topics", [{"name": "b"}], cluster_id="ours", controller_id=7),
    }
    merged = answered(api, 13, merge(api, parts, answers))
    assert (merged.cluster_id, merged.controller_id, merged.error_code) == ("ours", 7, 0)


def test_another_volumes_error_of_all_is_dropped_where_it_alone_answers() -> None:
    api = api_named("Metadata")
    parts = divide(api, 13, body_of(api, 13, ["oslo/a"]), NAMES)
    assert parts is not None
    merged = answered(
        api, 13, merge(api, parts, {OSLO: answer(api, 13, "topics", [], error_code=129)})
    )
    assert int(merged.error_code) == 0
    assert [(each.name, int(each.error_code)) for each in merged.topics] == [("oslo/a", 5)]


def test_topics_of_a_volume_that_answers_one_error_are_to_be_asked_for_again() -> None:
    api = api_named("Metadata")
    parts = divide(api, 13, body_of(api, 13, ["oslo/a", "b"]), NAMES)
    assert parts is not None
    answers = {
        OSLO: answer(api, 13, "topics", [], error_code=129),
        OWN: answer(api, 13, "topics", [{"name": "b"}]),
    }
    merged = answered(api, 13, merge(api, parts, answers)).topics
    assert [(each.name, int(each.error_code)) for each in merged] == [("oslo/a", 5), ("b", 0)]


def test_answers_that_were_not_requested_are_left_out() -> None:
    api = api_named("Metadata")
    parts = divide(api, 13, body_of(api, 13, ["oslo/a", "b"]), NAMES)
    assert parts is not None
    answers = {
        OSLO: answer(api, 13, "topics", [{"name": "oslo/more"}, {"name": "oslo/a"}]),
        OWN: answer(api, 13, "topics", [{"name": "b"}]),
    }
    merged = answered(api, 13, merge(api, parts, answers)).topics
    assert [each.name for each in merged] == ["oslo/a", "b"]


def test_the_listeners_volumes_error_of_all_is_the_merged_ones() -> None:
    api = api_named("Metadata")
    parts = divide(api, 13, body_of(api, 13, ["oslo/a", "b"]), NAMES)
    assert parts is not None
    answers = {
        OSLO: answer(api, 13, "topics", [{"name": "oslo/a"}]),
        OWN: answer(api, 13, "topics", [{"name": "b"}], error_code=129),
    }
    assert int(answered(api, 13, merge(api, parts, answers)).error_code) == 129
