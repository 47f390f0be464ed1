"""ACL requests as they are read, and their rejections; responses as they are written."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.acl_model import AclBinding, AclEntry, Operation, Permission
from gateway.apis.security import acl_messages
from gateway.catalog.snapshot import Snapshot
from gateway.decision import Denied
from gateway.rules.acl_names import ResolvedFilter
from gateway.views.view import View, ViewSettings
from protocol import messages
from protocol.messages import element_class, make
from tests.changes.acl_requests import acl, fields, filtering

VERSIONS = (1, 2, 3)
ROOT = View(ViewSettings("test"), Snapshot.of(["org"]))
GOOD = "ALLOW READ User:bob TOPIC:LITERAL:org:x"
WHY = Denied(31, "Not yours.", "acl")


def binding(version: int = 3, **values: Any) -> AclBinding | Denied:
    """The binding that a creation is read as."""
    cls = messages.message_class("CreateAclsRequest", version)
    creation = make(element_class(cls, "creations"), {**fields(acl(GOOD)), **values})
    return acl_messages.binding_of(ROOT, creation)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_creation(version: int) -> None:
    assert binding(version) == acl(GOOD)
    assert binding(version, resource_name="org..x") == acl(GOOD)
    assert binding(version, host="10.0.0.1", operation=2) == AclBinding(
        acl(GOOD).pattern, AclEntry("User:bob", "10.0.0.1", Operation.ALL, Permission.ALLOW)
    )


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"resource_type": 0}, "UNKNOWN is no type of a resource"),
        ({"resource_type": 1}, "ANY is no type of a resource"),
        ({"resource_type": 99}, "UNKNOWN is no type of a resource"),
        ({"resource_pattern_type": 0}, "UNKNOWN is no pattern type"),
        ({"resource_pattern_type": 1}, "ANY is no pattern type"),
        ({"resource_pattern_type": 2}, "MATCH is no pattern type"),
        ({"resource_pattern_type": -4}, "UNKNOWN is no pattern type"),
        ({"operation": 0}, "UNKNOWN is no operation"),
        ({"operation": 1}, "ANY is no operation"),
        ({"operation": 100}, "UNKNOWN is no operation"),
        ({"permission_type": 1}, "ANY is no permission"),
        ({"permission_type": 77}, "UNKNOWN is no permission"),
        ({"resource_name": ""}, "The resource name is empty"),
        ({"resource_name": "", "resource_pattern_type": 4}, "The resource name is empty"),
        ({"resource_type": 4}, "A CLUSTER resource has the name 'kafka-cluster' and no other"),
        ({"principal": "bob"}, "'bob' is no principal; it is written like User:alice."),
        ({"principal": ""}, "'' is no principal"),
        ({"host": ""}, "The host is empty"),
        ({"principal": "User:" + "ä" * 20_000}, "longer than 32,767 bytes"),
        ({"resource_name": ":"}, "':' names no namespace"),
    ],
)
def test_what_no_kafka_takes(values: dict[str, Any], text: str) -> None:
    found = binding(**values)
    assert isinstance(found, Denied)
    assert found.code == 42
    assert text in found.message


def test_the_cluster() -> None:
    found = binding(resource_type=4, resource_name="kafka-cluster", operation=9)
    assert found == acl("ALLOW CLUSTER_ACTION User:bob CLUSTER:LITERAL:kafka-cluster")


@pytest.mark.parametrize(
    "values",
    [
        {"resource_type_filter": 0},
        {"pattern_type_filter": 9},
        {"operation": 0},
        {"permission_type": -1},
    ],
)
def test_filters_with_codes_that_nobody_knows(values: dict[str, int]) -> None:
    cls = messages.message_class("DescribeAclsRequest", 3)
    found = acl_messages.filter_of(ROOT, make(cls, {**filtering(), **values}))
    assert isinstance(found, Denied)
    assert (found.code, found.rule) == (42, "request")


FIELDS = ("resource_type_filter", "pattern_type_filter", "operation", "permission_type")


@pytest.mark.parametrize("field", FIELDS)
def test_a_description_lists_nothing_for_a_number_that_kafka_lacks(field: str) -> None:
    cls = messages.message_class("DescribeAclsRequest", 3)
    for number, nothing in ((113, True), (-1, True), (0, False), (1, False), (3, False)):
        request = make(cls, {**filtering(), field: number})
        assert acl_messages.matches_nothing(request) is nothing


@pytest.mark.parametrize("version", VERSIONS)
def test_a_filter(version: int) -> None:
    cls = messages.message_class("DescribeAclsRequest", version)
    found = acl_messages.filter_of(ROOT, make(cls, filtering("org..x", host="*")))
    assert isinstance(found, ResolvedFilter)
    assert {one.host for one in found.filters} == {"*"}
    assert "org:x" in {one.name for one in found.filters}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_answer_to_creations(version: int) -> None:
    body = acl_messages.creation_response(version, [None, WHY])
    response = messages.parse("CreateAclsResponse", version, body)
    assert [(int(r.error_code), r.error_message) for r in response.results] == [
        (0, None),
        (31, "Not yours."),
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_answer_to_a_description(version: int) -> None:
    shown = [
        acl("ALLOW WRITE User:b TOPIC:LITERAL:x"),
        acl("DENY READ User:a TOPIC:LITERAL:x"),
        acl("ALLOW READ User:a TOPIC:PREFIXED:x"),
        acl("ALLOW READ User:a GROUP:LITERAL:a"),
    ]
    body = acl_messages.description_response(version, shown)
    response = messages.parse("DescribeAclsResponse", version, body)
    assert (response.error_code, response.error_message) == (0, None)
    assert [
        (r.resource_type, r.resource_name, r.pattern_type, len(r.acls)) for r in response.resources
    ] == [(2, "x", 3, 2), (2, "x", 4, 1), (3, "a", 3, 1)]
    assert [one.principal for one in response.resources[0].acls] == ["User:a", "User:b"]
    body = acl_messages.description_error(version, WHY)
    response = messages.parse("DescribeAclsResponse", version, body)
    assert (int(response.error_code), response.error_message) == (31, "Not yours.")
    assert response.resources == ()


@pytest.mark.parametrize("version", VERSIONS)
def test_the_answer_to_deletions(version: int) -> None:
    gone = [acl("ALLOW READ User:b TOPIC:LITERAL:x"), acl("ALLOW READ User:a TOPIC:LITERAL:x")]
    body = acl_messages.deletion_response(version, [gone, [], WHY])
    response = messages.parse("DeleteAclsResponse", version, body)
    first, second, third = response.filter_results
    assert [match.principal for match in first.matching_acls] == ["User:a", "User:b"]
    assert (first.error_code, first.matching_acls[0].error_code) == (0, 0)
    assert (second.error_code, second.matching_acls) == (0, ())
    assert (int(third.error_code), third.error_message) == (31, "Not yours.")
