"""gateway.policies.interface: the input of a policy, and the methods that it has to have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import FrozenInstanceError
from typing import Any, cast

import pytest

from gateway.policies.interface import CreateTopicPolicy, PolicyViolation, RequestMetadata


class Rejecting(CreateTopicPolicy):
    """Has only the methods that a policy has to have."""

    def validate(self, request_metadata: RequestMetadata) -> None:
        raise PolicyViolation(f"{request_metadata.topic}: no")


def test_anyone_can_make_one() -> None:
    metadata = RequestMetadata("orders")
    assert metadata.topic == "orders"
    assert (metadata.num_partitions, metadata.replication_factor) == (None, None)
    assert metadata.replicas_assignments is None
    assert metadata.configs == metadata.effective_configs == {}
    assert (metadata.principal, metadata.namespace) == ("User:ANONYMOUS", "")
    assert (metadata.namespace_topics, metadata.namespace_partitions) == (0, 0)


@pytest.mark.parametrize("name", ["topic", "num_partitions", "configs", "principal"])
def test_no_field_can_be_set(name: str) -> None:
    with pytest.raises(FrozenInstanceError):
        setattr(RequestMetadata("orders"), name, None)


@pytest.mark.parametrize("name", ["configs", "effective_configs", "replicas_assignments"])
def test_no_mapping_can_be_changed(name: str) -> None:
    given: Any = {0: [1]} if name == "replicas_assignments" else {"a": "b"}
    fields: dict[str, Any] = {name: given}
    metadata = RequestMetadata("orders", **fields)
    found = getattr(metadata, name)
    with pytest.raises(TypeError):
        cast(dict[Any, Any], found)["c"] = "d"
    given["c"] = "d"
    assert "c" not in found


def test_brokers_of_an_assignment_cannot_be_changed() -> None:
    brokers = [1, 2]
    metadata = RequestMetadata("orders", replicas_assignments={0: brokers})
    brokers.append(3)
    assert metadata.replicas_assignments == {0: (1, 2)}


def test_partitions_however_they_are_asked_for() -> None:
    assert RequestMetadata("orders", num_partitions=3).partitions == 3
    assert RequestMetadata("orders", replicas_assignments={0: [1], 1: [2]}).partitions == 2
    assert RequestMetadata("orders").partitions is None


def test_a_policy_has_to_validate_and_no_more() -> None:
    with pytest.raises(TypeError):
        CreateTopicPolicy()  # type: ignore[abstract]
    policy = Rejecting()
    nothing: Mapping[str, str | None] = {}
    policy.configure(nothing)
    with pytest.raises(PolicyViolation, match="orders: no"):
        policy.validate(RequestMetadata("orders"))
    policy.close()
