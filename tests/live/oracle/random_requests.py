"""Random requests of every decided API, for the oracle of access.

They name resources of ACLs, and change as little as they can, so that the next request finds the
same state. If an API allows it, a change is cut short: ``validate_only``, a replication factor that
no broker has, an unknown member. Requests that the gateway rejects to all users are left out
(docs/apis.md: configs of brokers).
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

from hypothesis import strategies as st

from tests.live.oracle.acl_requests import ACL_REQUESTS
from tests.live.oracle.acl_sets import HOSTS, USERS
from tests.live.oracle.group_requests import GROUP_REQUESTS
from tests.live.oracle.request_parts import Request
from tests.live.oracle.share_requests import SHARE_REQUESTS
from tests.live.oracle.streams_requests import STREAMS_REQUESTS
from tests.live.oracle.topic_requests import TOPIC_REQUESTS

REQUESTS: Final = {
    **TOPIC_REQUESTS,
    **GROUP_REQUESTS,
    **SHARE_REQUESTS,
    **STREAMS_REQUESTS,
    **ACL_REQUESTS,
}
"""Strategies of requests, by API and version."""


class SentRequest(NamedTuple):
    """A request, and the user and host that send it."""

    user: str
    host: str
    request: Request


def asked_together(
    versions: Mapping[str, Sequence[int]], count: int
) -> st.SearchStrategy[tuple[SentRequest, ...]]:
    """Tuples of so many requests, evenly of all these APIs and versions, each of any user."""
    pairs = [(name, version) for name, found in versions.items() for version in found]
    random.Random(len(pairs)).shuffle(pairs)

    def beginning_at(start: int) -> st.SearchStrategy[tuple[SentRequest, ...]]:
        chosen = (pairs[(start + place) % len(pairs)] for place in range(count))
        return st.tuples(*(_asked(name, version) for name, version in chosen))

    return st.integers(0, len(pairs) - 1).flatmap(beginning_at)


@cache
def _asked(name: str, version: int) -> st.SearchStrategy[SentRequest]:
    request = REQUESTS[name](version).map(lambda values: Request(name, version, values))
    return st.builds(SentRequest, st.sampled_from(USERS), st.sampled_from(HOSTS), request)
