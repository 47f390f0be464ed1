"""Config requests as clients send them, and their responses in a form that tests compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gateway.changes.configs.alter_configs import alter_configs, incremental_alter_configs
from gateway.changes.configs.describe_configs import describe_configs
from gateway.views.access import Access
from gateway.views.view import View
from protocol import messages
from protocol.messages import element_class, make
from tests.changes.fakes import FakeGateway, World, allowed

TOPIC = 2
SET, DELETE, APPEND, SUBTRACT = range(4)

Change = tuple[str, int, str | None]
"""Key, operation, value."""


def setting(**configs: str) -> list[Change]:
    """``retention_ms="1"`` is a SET of ``retention.ms``."""
    return [(key.replace("_", "."), SET, value) for key, value in configs.items()]


def deleting(*keys: str) -> list[Change]:
    return [(key, DELETE, None) for key in keys]


def moving(namespace: str, topic: str | None = None, until: str | None = None) -> list[Change]:
    """The config changes that move a topic."""
    changes: list[Change] = [("gateway.namespace", SET, namespace)]
    changes += [] if topic is None else [("gateway.topic", SET, topic)]
    return changes + ([] if until is None else [("gateway.alias.until", SET, until)])


RELEASING: list[Change] = [("gateway.release", SET, "true")]


async def alter_all(
    gateway: FakeGateway,
    resources: Sequence[tuple[int, str, Sequence[Change]]],
    *,
    view: View | None = None,
    version: int = 1,
    validate_only: bool = False,
    access: Access | None = None,
) -> list[tuple[int, str | None]]:
    """IncrementalAlterConfigs: error code and message of each resource; names and order are
    checked."""
    cls = messages.message_class("IncrementalAlterConfigsRequest", version)
    resource_class = element_class(cls, "resources")
    config_class = element_class(resource_class, "configs")
    entries = tuple(
        make(
            resource_class,
            {
                "resource_type": kind,
                "resource_name": name,
                "configs": tuple(
                    make(config_class, {"name": k, "config_operation": o, "value": v})
                    for k, o, v in changes
                ),
            },
        )
        for kind, name, changes in resources
    )
    body = messages.write(make(cls, {"resources": entries, "validate_only": validate_only}))
    asking = access or allowed(gateway, view)
    answer = await incremental_alter_configs(gateway.context, asking, version, body)
    response = messages.parse("IncrementalAlterConfigsResponse", version, answer.body)
    return _answers(response, [(kind, name) for kind, name, _ in resources])


async def alter(
    gateway: FakeGateway,
    name: str,
    changes: Sequence[Change],
    *,
    view: View | None = None,
    validate_only: bool = False,
    access: Access | None = None,
) -> tuple[int, str | None]:
    """IncrementalAlterConfigs of one topic or namespace."""
    resources = [(TOPIC, name, changes)]
    (answer,) = await alter_all(
        gateway, resources, view=view, validate_only=validate_only, access=access
    )
    return answer


async def replace_configs(
    gateway: FakeGateway,
    resources: Sequence[tuple[str, Mapping[str, str | None]]],
    *,
    view: View | None = None,
    version: int = 2,
    validate_only: bool = False,
) -> list[tuple[int, str | None]]:
    """AlterConfigs of topics and namespaces."""
    cls = messages.message_class("AlterConfigsRequest", version)
    resource_class = element_class(cls, "resources")
    config_class = element_class(resource_class, "configs")
    entries = tuple(
        make(
            resource_class,
            {
                "resource_type": TOPIC,
                "resource_name": name,
                "configs": tuple(
                    make(config_class, {"name": k, "value": v}) for k, v in configs.items()
                ),
            },
        )
        for name, configs in resources
    )
    body = messages.write(make(cls, {"resources": entries, "validate_only": validate_only}))
    answer = await alter_configs(gateway.context, allowed(gateway, view), version, body)
    response = messages.parse("AlterConfigsResponse", version, answer.body)
    return _answers(response, [(TOPIC, name) for name, _ in resources])


async def describe_all(
    gateway: FakeGateway,
    resources: Sequence[tuple[int, str, tuple[str, ...] | None]],
    *,
    view: View | None = None,
    version: int = 4,
    synonyms: bool = False,
    documentation: bool = False,
    access: Access | None = None,
) -> list[Any]:
    """DescribeConfigs: the results; names and order are checked."""
    cls = messages.message_class("DescribeConfigsRequest", version)
    resource_class = element_class(cls, "resources")
    entries = tuple(
        make(
            resource_class,
            {"resource_type": kind, "resource_name": name, "configuration_keys": keys},
        )
        for kind, name, keys in resources
    )
    values = {"resources": entries, "include_synonyms": synonyms}
    body = messages.write(make(cls, {**values, "include_documentation": documentation}))
    answer = await describe_configs(
        gateway.context, access or allowed(gateway, view), version, body
    )
    response = messages.parse("DescribeConfigsResponse", version, answer.body)
    named = [(r.resource_type, r.resource_name) for r in response.results]
    assert named == [(kind, name) for kind, name, _ in resources]
    return list(response.results)


async def describe(
    gateway: FakeGateway, name: str, *, view: View | None = None
) -> dict[str, tuple[str | None, int]]:
    """Value and source of every config of one topic or namespace."""
    (result,) = await describe_all(gateway, [(TOPIC, name, None)], view=view)
    assert not result.error_code, result.error_message
    return {config.name: (config.value, config.config_source) for config in result.configs}


def _answers(response: Any, named: list[tuple[int, str]]) -> list[tuple[int, str | None]]:
    assert [(r.resource_type, r.resource_name) for r in response.responses] == named
    return [(int(r.error_code), r.error_message) for r in response.responses]


def broker_configs(world: World, flat: str) -> dict[str, str]:
    """The configs of a topic at the broker."""
    return world.broker.topics[flat].configs


def own_keys(world: World, flat: str) -> tuple[str, ...]:
    """The keys that are the topic's own in the catalog."""
    entry = world.snapshot.topics.get(flat)
    return () if entry is None else entry.own_configs
