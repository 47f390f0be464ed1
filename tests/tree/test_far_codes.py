"""Error codes, by API, of requests that other gateways do not accept."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.error_codes import (
    CLUSTER_AUTHORIZATION_FAILED,
    COORDINATOR_NOT_AVAILABLE,
    GROUP_AUTHORIZATION_FAILED,
    INVALID_REQUEST,
    TOPIC_AUTHORIZATION_FAILED,
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from gateway.referrals.questions import Outcome
from tests.tree.far_site import (
    Site,
)

NO_MOUNT, DENIED, REJECTED = Outcome.NO_SUCH_MOUNT, Outcome.DENIED, Outcome.REJECTED
ACL = {"resource_type": 2, "resource_name": ":sf:t", "resource_pattern_type": 3}
ACL |= {"principal": "User:x", "host": "*", "operation": 3, "permission_type": 3}
RESOURCE = {"resource_type": 2, "resource_name": ":sf:t"}
REFERRED: list[tuple[str, int, dict[str, Any], str, tuple[int, int, int]]] = [
    (
        "Metadata",
        12,
        {"topics": [{"topic_id": None, "name": ":sf:t"}]},
        "topics",
        (UNKNOWN_TOPIC_OR_PARTITION, TOPIC_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION),
    ),
    (
        "CreateTopics",
        7,
        {"topics": [{"name": ":sf:t"}]},
        "topics",
        (UNKNOWN_TOPIC_OR_PARTITION, TOPIC_AUTHORIZATION_FAILED, INVALID_REQUEST),
    ),
    (
        "DescribeConfigs",
        4,
        {"resources": [RESOURCE]},
        "results",
        (UNKNOWN_TOPIC_OR_PARTITION, TOPIC_AUTHORIZATION_FAILED, INVALID_REQUEST),
    ),
    (
        "CreateAcls",
        3,
        {"creations": [ACL]},
        "results",
        (INVALID_REQUEST, CLUSTER_AUTHORIZATION_FAILED, INVALID_REQUEST),
    ),
    (
        "FindCoordinator",
        4,
        {"coordinator_keys": [":sf:app"], "key_type": 0},
        "coordinators",
        (COORDINATOR_NOT_AVAILABLE, GROUP_AUTHORIZATION_FAILED, COORDINATOR_NOT_AVAILABLE),
    ),
    (
        "FindCoordinator",
        4,
        {"coordinator_keys": [":sf:app"], "key_type": 1},
        "coordinators",
        (
            COORDINATOR_NOT_AVAILABLE,
            TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            COORDINATOR_NOT_AVAILABLE,
        ),
    ),
]


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize(("api", "version", "values", "array", "expected"), REFERRED)
async def test_codes_where_nobody_takes_a_request(
    site: Site,
    api: str,
    version: int,
    values: dict[str, Any],
    array: str,
    expected: tuple[int, int, int],
    place: int,
) -> None:
    await site.metadata(":sf:clicks")  # what was learned before makes no difference
    outcome = (NO_MOUNT, DENIED, REJECTED)[place]
    site.goes_down(outcome)
    answer = await site.ask(api, version, values)
    (item,) = getattr(answer, array)
    assert int(item.error_code) == expected[place]
    text = getattr(item, "error_message", None)
    assert text is None or outcome.name in text
