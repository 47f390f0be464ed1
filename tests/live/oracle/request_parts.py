"""Parts of random requests for the oracle of access (``random_requests`` combines them)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from hypothesis import strategies as st

from gateway.acl_model import ResourceType as Type
from tests.live.oracle.acl_sets import NAMES

Values = Mapping[str, object]
Strategy = st.SearchStrategy[dict[str, object]]

TIMEOUT: Final = timedelta(seconds=10)
SHORT: Final = timedelta(milliseconds=1)
NOBODY: Final = "nobody"
"""A member that no group has."""

PRODUCER_ID: Final = 1_000_000
"""An id that no producer was given."""

flags = st.booleans()
topic_names = st.sampled_from(NAMES[Type.TOPIC])
some_topics = st.lists(topic_names, min_size=1, max_size=3, unique=True)
WITH_MEMBER: Final = "ab"
"""The only group with a member, of the protocol of KIP-848."""

group_ids = st.sampled_from(NAMES[Type.GROUP])
some_groups = st.lists(group_ids, min_size=1, max_size=3, unique=True).map(tuple)
transactional_ids = st.sampled_from(NAMES[Type.TRANSACTIONAL_ID])


@dataclass(frozen=True, slots=True)
class Request:
    """A request.

    ``values`` may have fields that the version lacks; a topic's name as ``topic_id`` stands for its
    id.
    """

    api: str
    version: int
    values: Values


def fields(**strategies: object) -> Strategy:
    """A dictionary of drawn values, and of values given as they are."""
    drawn = {
        name: value if isinstance(value, st.SearchStrategy) else st.just(value)
        for name, value in strategies.items()
    }
    return st.fixed_dictionaries(drawn)


def each_topic(part: Mapping[str, object]) -> st.SearchStrategy[list[dict[str, object]]]:
    """Some topics, each with these fields beside its name."""
    return some_topics.map(
        lambda names: [{"name": name, "topic": name, "topic_id": name, **part} for name in names]
    )
