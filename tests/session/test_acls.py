"""Requests that the gateway answers from its catalog: ACLs, SCRAM credentials, quotas. No broker
gets them."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from gateway.acls.standard import StandardAuthorizer
from protocol import messages
from protocol.errors import ProtocolError
from protocol.messages import element_class, make
from tests.changes.acl_requests import acl, entities, fields, filtering, held
from tests.session.pair import Pair, frames, request_frame

READ_X = "ALLOW READ User:bob TOPIC:LITERAL:team-a:x"
CLUSTER = "CLUSTER:LITERAL:kafka-cluster"


def pair(*acls: str) -> Pair:
    """A session of User:alice, who has these ACLs."""
    authorizer = StandardAuthorizer()
    made = Pair(authorizer=authorizer)
    made.log.append(entities(acls))
    made.catalog_changed()
    # As the worker's views do.
    made.catalog.subscribe(lambda: authorizer.see(made.catalog.snapshot))
    return made


def creating(*texts: str, version: int = 3) -> Any:
    cls = messages.message_class("CreateAclsRequest", version)
    creation = element_class(cls, "creations")
    return make(cls, {"creations": tuple(make(creation, fields(acl(text))) for text in texts)})


def asking(api: str, values: Mapping[str, object], version: int) -> Any:
    return make(messages.message_class(f"{api}Request", version), values)


def test_the_answer_comes_in_turn() -> None:
    one = pair(f"ALLOW ALL User:alice {CLUSTER}")
    create = request_frame("CreateAcls", 3, creating(READ_X), correlation_id=1)
    describe = asking("DescribeAcls", filtering("team-a:x"), 3)
    one.send(create + request_frame("DescribeAcls", 3, describe, correlation_id=2))
    first, second = frames(one.to_client())
    assert (first[3], second[3]) == (1, 2)
    assert b"User:bob" in second  # entries from before are described
    assert one.to_broker() == b""
    assert READ_X in held(one.catalog.snapshot)


def test_errors_are_counted_once() -> None:
    one = pair(f"ALLOW ALL User:alice {CLUSTER}")
    bad = creating(READ_X, "ALLOW READ User:bob TOPIC:LITERAL::", READ_X)
    one.send(request_frame("CreateAcls", 3, bad))
    flows = [flow for flow in one.session.state.take_flows() if flow.errors]
    (counted,) = flows
    assert (counted.api_key, counted.errors, counted.denials) == (30, {42: 1}, {"names": 1})


@pytest.mark.parametrize(
    ("api", "version", "values"),
    [
        ("DescribeAcls", 3, filtering()),
        ("DescribeClientQuotas", 1, {"components": (), "strict": False}),
        ("DescribeUserScramCredentials", 0, {"users": None}),
    ],
)
def test_a_denial_is_an_event(
    api: str, version: int, values: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    one = pair("ALLOW READ User:alice TOPIC:LITERAL:x")
    with caplog.at_level(logging.WARNING):
        one.send(request_frame(api, version, asking(api, values, version)))
    (event,) = one.worker.denials
    assert (event.rule, event.code, event.resource) == ("acl", 31, "kafka-cluster")
    assert event.named == "CLUSTER kafka-cluster"
    assert event.operation in ("DESCRIBE", "DESCRIBE_CONFIGS")
    (flow,) = one.session.state.take_flows()
    assert (flow.errors, flow.denials) == ({31: 1}, {"acl": 1})
    assert f"denied {api} of 'kafka-cluster'" in caplog.text


def test_each_acl_that_a_delegate_may_not_make_is_an_event() -> None:
    one = pair("ALLOW ALTER User:alice TOPIC:LITERAL:team-a:")
    texts = [READ_X, "ALLOW READ User:bob TOPIC:LITERAL:y", "ALLOW READ User:bob TOPIC:LITERAL:*"]
    one.send(request_frame("CreateAcls", 3, creating(*texts)))
    assert [event.resource for event in one.worker.denials] == ["y", "*"]
    flows = one.session.state.take_flows()
    assert sum((Counter(flow.errors) for flow in flows), Counter()) == {31: 2}
    assert sum((Counter(flow.denials) for flow in flows), Counter()) == {"acl": 2}


def test_every_version_without_an_authorizer() -> None:
    one = Pair()
    for version in (1, 2, 3):
        one.send(request_frame("CreateAcls", version, creating(READ_X, version=version)))
        (result,) = one.answer("CreateAcls", version).results
        assert int(result.error_code) == 54
        delete = asking("DeleteAcls", {"filters": ()}, version)
        one.send(request_frame("DeleteAcls", version, delete))
        assert one.answer("DeleteAcls", version).filter_results == ()
    for version in (0, 1):
        quotas = asking("DescribeClientQuotas", {"components": (), "strict": False}, version)
        one.send(request_frame("DescribeClientQuotas", version, quotas))
        assert one.answer("DescribeClientQuotas", version).entries == ()
    assert one.worker.denials == []


def test_what_cannot_be_read_ends_the_connection() -> None:
    one = pair(f"ALLOW ALL User:alice {CLUSTER}")
    frame = request_frame("CreateAcls", 3, creating(READ_X))
    with pytest.raises(ProtocolError):
        one.send((len(frame) - 8).to_bytes(4, "big") + frame[4:-4])
