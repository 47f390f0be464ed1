"""A broker with StandardAuthorizer is the oracle of changes of rights outside of namespaces.

A user with some rights adds and removes ACLs, deletes topics and creates them again. Each request
gets the same error codes at both sides, and all users have the same rights afterwards.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devkit.waiting import wait_until
from gateway.acl_model import AclBinding, AclFilter, ResourceType
from tests.live.oracle.acl_sets import (
    NAMES,
    PRINCIPALS,
    USERS,
    acl_sets,
    entries,
    filters,
    patterns,
)
from tests.live.oracle.acl_sides import Side, creation
from tests.live.oracle.case_counts import CASES, SECONDS, oracle_settings
from tests.live.oracle.request_parts import TIMEOUT
from tests.live.oracle.test_acl_oracle_wire import Pair, a_pair
from tests.live.support import clients

pytestmark = pytest.mark.long("searches")

STEPS: Final = 8
"""The number of requests in a sequence."""

CHANGER: Final = USERS[0]
TOPICS: Final = NAMES[ResourceType.TOPIC]
GROUPS: Final = NAMES[ResourceType.GROUP]

Change = tuple[str, int, dict[str, Any]]
"""API, version and fields."""

_ACLS = st.builds(AclBinding, patterns(cluster_by_name=True), entries())
_OF_CHANGER = st.builds(
    AclBinding, patterns(cluster_by_name=True), entries((PRINCIPALS[0], PRINCIPALS[0]))
)
_NAMED = st.lists(st.sampled_from(TOPICS), min_size=1, max_size=2, unique=True)


def _filter(one: AclFilter) -> dict[str, object]:
    return {
        "resource_type_filter": one.type,
        "resource_name_filter": one.name,
        "pattern_type_filter": one.pattern_type,
        "principal_filter": one.principal,
        "host_filter": one.host,
        "operation": one.operation,
        "permission_type": one.permission,
    }


def _creations(acls: list[AclBinding]) -> Change:
    return "CreateAcls", 3, {"creations": [creation(acl) for acl in acls]}


def _topics(names: list[str]) -> Change:
    topics = [{"name": one, "num_partitions": 1, "replication_factor": 1} for one in names]
    return "CreateTopics", 7, {"topics": topics, "timeout": TIMEOUT}


def _deletions(names: list[str]) -> Change:
    return "DeleteTopics", 6, {"topics": [{"name": one} for one in names], "timeout": TIMEOUT}


CHANGES = st.one_of(
    st.lists(_ACLS, min_size=1, max_size=2).map(_creations),
    st.lists(_OF_CHANGER, min_size=1, max_size=2).map(_creations),
    st.lists(filters().map(_filter), min_size=1, max_size=2).map(
        lambda found: ("DeleteAcls", 3, {"filters": found})
    ),
    _NAMED.map(_topics),
    _NAMED.map(_deletions),
)


def outcome(side: Side, change: Change) -> object:
    """The comparable part of the response to the changer."""
    api, version, values = change
    answer = side.ask(CHANGER, api, version, **values)
    match api:
        case "CreateAcls":
            return [int(one.error_code) for one in answer.results]
        case "DeleteAcls":
            return [
                (int(one.error_code), sorted(map(_shown, one.matching_acls)))
                for one in answer.filter_results
            ]
        case "CreateTopics":
            return {one.name: int(one.error_code) for one in answer.topics}
        case _:
            return {one.name: int(one.error_code) for one in answer.responses}


def _shown(acl: Any) -> str:
    pattern = f"{acl.resource_type} {acl.resource_name} {acl.pattern_type}"
    return f"{pattern} {acl.principal} {acl.host} {acl.operation} {acl.permission_type}"


def rights(side: Side) -> dict[str, object]:
    """The operations that every user is allowed on each topic and group, and on the cluster."""
    found: dict[str, object] = {}
    for user in USERS:
        asked = {"topics": [{"name": name} for name in TOPICS], "allow_auto_topic_creation": False}
        every = {
            "include_cluster_authorized_operations": True,
            "include_topic_authorized_operations": True,
        }
        answer = side.ask(user, "Metadata", 10, **asked, **every)
        found[f"{user} cluster"] = answer.cluster_authorized_operations
        for one in answer.topics:
            operations = one.topic_authorized_operations
            found[f"{user} topic {one.name}"] = (int(one.error_code), operations)
        groups = {"groups": list(GROUPS), "include_authorized_operations": True}
        for each in side.ask(user, "DescribeGroups", 5, **groups).groups:
            found[f"{user} group {each.group_id}"] = (
                int(each.error_code),
                each.authorized_operations,
            )
    return found


def settled(pair: Pair) -> None:
    """Wait until both sides apply the change, and have the same ACLs and topics."""
    kafka, gateway = pair
    kafka.await_changes()
    gateway.await_changes()

    def same() -> bool:
        return kafka.acls() == gateway.acls() and kafka.topics() == gateway.topics()

    wait_until(same, "the same ACLs and topics at both sides", clients.SECONDS, poll=0.005)


@pytest.mark.timeout(SECONDS)
def test_changes_of_acls_and_topics_give_the_rights_that_they_give_at_a_broker(
    tmp_path: Path,
) -> None:
    done: dict[str, int] = {}
    found: list[str] = []
    with a_pair(tmp_path) as pair:

        @oracle_settings(-(-CASES // 50))
        @given(
            acl_sets(_ACLS),
            st.lists(_OF_CHANGER, max_size=4, unique=True),
            st.lists(CHANGES, min_size=1, max_size=STEPS),
        )
        def check(
            acls: tuple[AclBinding, ...], own: list[AclBinding], changes: list[Change]
        ) -> None:
            if found:
                return
            for side in pair:
                side.begin_anew({*acls, *own})
            for number, change in enumerate(changes):
                expected, got = (outcome(side, change) for side in pair)
                settled(pair)
                held, here = (rights(side) for side in pair)
                different = {k: (v, here.get(k)) for k, v in held.items() if here.get(k) != v}
                if got != expected or different:
                    found.append(
                        f"{changes[: number + 1]}\nbroker:  {expected}\ngateway: {got}\n"
                        f"rights (broker, gateway): {different}\n"
                        + "\n".join(map(str, {*acls, *own}))
                    )
                    return
                done[change[0]] = done.get(change[0], 0) + 1

        check()
    assert not found, found[0]
    assert done.keys() == {"CreateAcls", "DeleteAcls", "CreateTopics", "DeleteTopics"}
