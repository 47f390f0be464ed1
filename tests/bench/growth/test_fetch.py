"""bench.growth.fetch: Fetch requests of many partitions pass a connection."""

from __future__ import annotations

import pytest

from bench.growth.fetch import FIGURES, fetches, measure
from bench.growth.plan import Plan
from bench.quick_load import FLATS, NAMES
from protocol import messages
from protocol.headers import read_request_header, response_body_pos, response_header_version

FETCH = 1


@pytest.mark.parametrize("version", [12, 15])
@pytest.mark.parametrize("partitions", [1, 3, 10, 25])
def test_so_many_partitions_are_requested_and_answered(version: int, partitions: int) -> None:
    request, response = fetches(version, partitions)
    body = read_request_header(request, 4, len(request))[-1]
    asked = messages.parse("FetchRequest", version, request[body:]).topics
    start = response_body_pos(response, 4, len(response), response_header_version(FETCH, version))
    answered = messages.parse("FetchResponse", version, response[start:]).responses
    assert len(asked) == len(answered) == min(partitions, len(NAMES))
    assert sum(len(topic.partitions) for topic in asked) == partitions
    assert sum(len(topic.partitions) for topic in answered) == partitions
    assert [len(t.partitions) for t in asked] == [len(t.partitions) for t in answered]
    if version == 12:
        assert [topic.topic for topic in asked] == NAMES[: len(asked)]
        assert [topic.topic for topic in answered] == FLATS[: len(asked)]
    else:
        assert [topic.topic_id.int for topic in asked] == [t.topic_id.int for t in answered]


def test_partitions_are_measured() -> None:
    sweep = measure(Plan([1, 20, 2_500], 0.0, 60.0), lambda _: None)
    assert [curve.figure for curve in sweep.curves] == list(FIGURES)
    for curve in sweep.curves:
        assert list(curve.values) == [1, 20, 2_500]
        assert all(value > 0 for value in curve.values.values())
