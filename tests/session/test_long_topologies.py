"""No topology of a Streams group (KIP-1071), however long, delays the others of its worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gateway.apis.groups import streams_topology as topologies
from gateway.apis.groups.streams_statuses import MISSING_INTERNAL_TOPICS
from protocol import messages
from tests.scenarios.entities import entity
from tests.session.long_requests import TimedPair, best
from tests.session.pair import request_frame
from tests.session.test_long_requests import LONGEST_SECONDS
from tests.session.test_streams_groups import API, LINES, MISSING, Member, changelogs

LONGEST: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "names": lambda: [{"source_topics": [f"team-a:{n}" for n in range(topologies.MAX_TOPICS)]}],
    "subtopologies": lambda: [
        {"source_topics": ["team-a:lines"]} for _ in range(topologies.MAX_SUBTOPOLOGIES)
    ],
    "configs": lambda: [{"state_changelog_topics": changelogs(500, topologies.MAX_CONFIGS)}],
    "copartitioned": lambda: [
        {
            "source_topics": ["team-a:lines"],
            "copartition_groups": [{"source_topics": [0] * 400_000}],
            "state_changelog_topics": changelogs(1),
        }
    ],
    "groups": lambda: [
        {
            "source_topics": ["team-a:lines"],
            "copartition_groups": [{"source_topics": [0]}] * 50_000,
            "state_changelog_topics": changelogs(1),
        }
    ],
}


@pytest.mark.alone
@pytest.mark.usefixtures("quietly")
@pytest.mark.parametrize("way", [*LONGEST])
def test_no_callback_of_a_long_topology_is_long(way: str) -> None:
    """Neither of the heartbeat, nor of its response and the next one's, which are short."""
    frame = long_frame(way)

    def measured() -> TimedPair:
        pair = TimedPair(topics=[LINES])
        member = Member(pair)
        pair.send(frame)
        assert pair.to_broker()
        member.answered((MISSING_INTERNAL_TOPICS, MISSING))
        member.beat()
        member.answered((MISSING_INTERNAL_TOPICS, MISSING))
        for each in member.work:
            each.close()
        return pair

    assert best(measured, LONGEST_SECONDS).longest < LONGEST_SECONDS


def long_frame(way: str) -> bytes:
    parts = [{"subtopology_id": str(n), **part} for n, part in enumerate(LONGEST[way]())]
    fields = {"group_id": "app", "member_id": "m1", "topology": {"subtopologies": parts}}
    return request_frame(API, 0, entity(messages.message_class(f"{API}Request", 0), fields))
