"""DescribeConfigs of namespaces, and of topics with what they inherit told as such.

A topic's own configs are DYNAMIC_TOPIC_CONFIG, which is what stock tools show by default, those
of its namespaces DYNAMIC_DEFAULT_BROKER_CONFIG. A namespace is described as a topic in it would
be. What the gateway tells of both, ``gateway.*``, are read-only defaults.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from gateway.catalog.snapshot import Snapshot
from gateway.changes.base import admin_rights
from gateway.changes.base.batch import Answered
from gateway.changes.base.broker import describe
from gateway.changes.base.context import Context
from gateway.changes.base.refused import unavailable
from gateway.changes.base.resources import (
    NamespaceResource,
    TopicResource,
    in_logical_names,
    relative_path,
    renewed,
    resource_named,
)
from gateway.changes.base.virtual_configs import (
    DELETING,
    NAMESPACE,
    NAMESPACES,
    POLICIES,
    PRINCIPALS,
    TOPICS,
    without_virtual,
)
from gateway.changes.configs.describe_messages import (
    Shape,
    described,
    layered,
    rebuilt,
    refused,
    virtual,
)
from gateway.changes.inheritance.inherited import adjust_described, inherited, own_configs, pending
from gateway.changes.inheritance.namespace_configs import LIST_TYPE, Default, cluster_defaults
from gateway.changes.namespaces.home_principals import principals_of
from gateway.decision import Denied
from gateway.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from gateway.names import DELIMITER, parents
from gateway.policies import told_text
from gateway.policies.told import anything_set, rows
from gateway.rules.item_lists import ConfigResource
from gateway.rules.nested import element_class, make
from gateway.views.access import DESCRIBE, Access
from gateway.views.view import View
from protocol import messages
from protocol.pausing import paced

_INT_TYPE: Final = 3
_BOOLEAN_TYPE: Final = 1
_NO_ANSWER: Final = Denied(UNKNOWN_TOPIC_OR_PARTITION, "The broker does not say.", "broker")


_AT_ONCE: Final = 100
"""Resources that are described in one go."""

_MANY_KEYS: Final = 1_000
"""Config keys of one resource, after which the broker is asked for all: it has not so many."""

_MANY_TOLD: Final = 100_000
"""The same of keys times topics: every topic is asked for what any of them is asked for."""


@dataclass(frozen=True, slots=True)
class _Request:
    """``policies`` keeps by namespace whether any are set, and what is told of them."""

    context: Context
    access: Access
    shape: Shape
    policies: dict[str, tuple[bool, str]] = field(default_factory=dict)

    @property
    def view(self) -> View:
        return self.access.view

    @property
    def snapshot(self) -> Snapshot:
        return self.view.snapshot


async def describe_configs(context: Context, access: Access, version: int, body: bytes) -> Answered:
    """Whole bodies in the client's names, in and out. Raises ProtocolError."""
    request = messages.parse("DescribeConfigsRequest", version, body)
    cls = messages.message_class("DescribeConfigsResponse", version)
    shape = Shape(
        element_class(cls, "results"),
        synonyms=getattr(request, "include_synonyms", False),
        documentation=getattr(request, "include_documentation", False),
    )
    denied: Mapping[ConfigResource, Denied] = {}
    try:
        access = access.over(await renewed(context, access.view))
        asked = _Request(context, access, shape)
        denied = admin_rights.configs(access, "DescribeConfigs", request.resources)
        results = await _results(asked, request.resources, denied)
    except OSError as error:
        why = unavailable(error)
        results = [refused(shape, resource, why) for resource in request.resources]
    told = {name.decode(): why for (_, name), why in denied.items()}
    return Answered(messages.write(make(cls, {"results": tuple(results)})), told)


async def _results(
    asked: _Request, resources: Sequence[Any], denied: Mapping[ConfigResource, Denied]
) -> list[Any]:
    what = [
        denied.get((r.resource_type, r.resource_name.encode()))
        or resource_named(asked.view, r.resource_type, r.resource_name)
        for r in resources
    ]
    answers = await _ask_topics(asked, resources, what)
    defaults: Mapping[str, Default] = {}
    if any(isinstance(found, NamespaceResource) for found in what):
        await asked.context.cluster.refresh()
        defaults = await cluster_defaults(asked.context, documentation=asked.shape.documentation)
    results: list[Any] = []
    for number, (resource, found) in enumerate(zip(resources, what, strict=True)):
        if number % _AT_ONCE == _AT_ONCE - 1:
            await asyncio.sleep(0)  # others want to go on, too
        if isinstance(found, Denied):
            results.append(refused(asked.shape, resource, found))
        elif isinstance(found, NamespaceResource):
            results.append(_namespace_result(asked, resource, found, defaults))
        else:
            results.append(_topic_result(asked, resource, found, answers.get(found.flat)))
    return results


# -- topics ----------------------------------------------------------------------------------------


async def _ask_topics(
    asked: _Request, resources: Sequence[Any], what: Sequence[object]
) -> dict[str, Any]:
    """The broker's result for each flat name, asked once however many spellings it has."""
    keys: dict[str, set[str] | None] = {}
    for resource, found in paced(zip(resources, what, strict=True)):
        if isinstance(found, TopicResource):
            wanted = without_virtual(resource.configuration_keys)
            before = keys.get(found.flat, set())
            if wanted is not None and len(wanted) > _MANY_KEYS:
                wanted = None
            keys[found.flat] = None if wanted is None or before is None else before.union(wanted)
    if not keys:
        return {}
    every = None if None in keys.values() else set().union(*(k for k in keys.values() if k))
    if every is not None and len(every) * len(keys) > _MANY_TOLD:
        every = None
    response = await describe(
        asked.context,
        list(keys),
        every,
        synonyms=asked.shape.synonyms,
        documentation=asked.shape.documentation,
    )
    return {result.resource_name: result for result in paced(response.results)}


def _topic_result(asked: _Request, resource: Any, topic: TopicResource, answer: Any) -> Any:
    if answer is None or answer.error_code:
        why = _NO_ANSWER
        if answer is not None:
            code = int(answer.error_code)
            state = "does not exist" if code == UNKNOWN_TOPIC_OR_PARTITION else "is not described"
            text = answer.error_message or f"Topic '{topic.name}' {state}."
            why = Denied(code, text, "broker")
        return refused(asked.shape, resource, in_logical_names(asked.view, why, topic))
    snapshot, flat = asked.snapshot, topic.flat
    namespace = snapshot.owner(flat).namespace
    configs = adjust_described(
        answer.configs,
        own_configs(snapshot, flat) if namespace else {c.name for c in answer.configs},
        inherited(snapshot, namespace),
        pending(snapshot, flat) if namespace else (),
    )
    told = [rebuilt(asked.shape, config) for config in configs]
    path = relative_path(asked.view, namespace) if namespace else None
    if path is not None:
        told.append(virtual(asked.shape, NAMESPACE, path))
    # A topic that an alias reaches out of a home does not tell where it is.
    if path is not None or not namespace:
        told += _policies(asked, namespace, always=bool(namespace))
    return described(asked.shape, resource, told)


# -- namespaces ------------------------------------------------------------------------------------


def _namespace_result(
    asked: _Request, resource: Any, found: NamespaceResource, defaults: Mapping[str, Default]
) -> Any:
    snapshot, path = asked.snapshot, found.path
    namespace = snapshot.namespaces.get(path)
    if namespace is None and path:
        message = f"Namespace '{path}' does not exist."
        return refused(
            asked.shape,
            resource,
            Denied(UNKNOWN_TOPIC_OR_PARTITION, message, "namespace"),
        )
    own = {} if namespace is None else namespace.configs
    above = inherited(snapshot, path.rpartition(DELIMITER)[0])
    told = [
        layered(asked.shape, defaults.get(key, Default(key, None)), own.get(key), above.get(key))
        for key in dict.fromkeys([*defaults, *above, *own])
    ]
    told += _facts(asked, path)
    return described(asked.shape, resource, told)


def _facts(asked: _Request, path: str) -> Iterator[Any]:
    """What is in a namespace, as configs that only a description of all shows; what may not be
    described is left out."""
    snapshot = asked.snapshot
    tree = asked.context.trees.of(snapshot, asked.context.cluster.index)
    access = asked.access
    below = [p for p in tree.children.get(path, ()) if access.namespace(DESCRIBE, p) is None]
    shown = [told for p in below if (told := relative_path(asked.view, p)) is not None]
    yield virtual(asked.shape, NAMESPACES, ",".join(shown))
    if access.namespace(DESCRIBE, path) is None:  # which counts for all topics in it
        yield virtual(asked.shape, TOPICS, str(tree.topics[path]), config_type=_INT_TYPE)
    # Users are the cluster's, as in DescribeUserScramCredentials.
    principals = principals_of(snapshot, path) if path and not access.cluster(DESCRIBE) else ""
    if principals:
        yield virtual(asked.shape, PRINCIPALS, principals, config_type=LIST_TYPE)
    for key, (value, _) in sorted(snapshot.effective_settings(path).items()):
        kind = _BOOLEAN_TYPE if value in ("true", "false") else _INT_TYPE
        yield virtual(asked.shape, key, value, config_type=kind)
    if not snapshot.deleting().isdisjoint(parents(path)):
        yield virtual(asked.shape, DELETING, "true", config_type=_BOOLEAN_TYPE)
    yield from _policies(asked, path, always=True)


def _policies(asked: _Request, namespace: str, *, always: bool) -> Iterator[Any]:
    """Which policies apply in a namespace; unless it is told ``always``, where any is set."""
    found = asked.policies.get(namespace)
    if found is None:
        applying = rows(asked.context.judge.policies, namespace)
        found = asked.policies[namespace] = (anything_set(applying), told_text.text(applying))
    any_set, text = found
    if always or any_set:
        yield virtual(asked.shape, POLICIES, text)
