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

from gateway.changes.base import admin_rights
from gateway.changes.base.batch import Answered, Batch
from gateway.changes.base.broker import describe
from gateway.changes.base.context import Context
from gateway.changes.base.refused import BROKER, unavailable
from gateway.changes.base.resources import (
    NamespaceResource,
    TopicResource,
    in_logical_names,
    relative_path,
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
from gateway.rules.nested import element_class, make
from gateway.views.access import DESCRIBE, Access
from protocol import messages
from protocol.pausing import paced

_INT_TYPE: Final = 3
_BOOLEAN_TYPE: Final = 1
_NO_ANSWER: Final = Denied(UNKNOWN_TOPIC_OR_PARTITION, "The broker does not say.", BROKER)


_AT_ONCE: Final = 100
"""Resources that are described in one go."""

_MANY_KEYS: Final = 1_000
"""Config keys of one resource, after which the broker is asked for all: it has not so many."""

_MANY_TOLD: Final = 100_000
"""The same of keys times topics: every topic is asked for what any of them is asked for."""


@dataclass(slots=True, kw_only=True)
class _Batch(Batch[int, TopicResource | NamespaceResource, Any]):
    """One request on its way. ``policies`` keeps by namespace whether any are set, and what is told
    of them."""

    resources: Sequence[Any]
    shape: Shape
    policies: dict[str, tuple[bool, str]] = field(default_factory=dict)


async def describe_configs(context: Context, access: Access, version: int, body: bytes) -> Answered:
    """Whole bodies in the client's names, in and out. Raises ProtocolError."""
    request = messages.parse("DescribeConfigsRequest", version, body)
    cls = messages.message_class("DescribeConfigsResponse", version)
    shape = Shape(
        element_class(cls, "results"),
        synonyms=getattr(request, "include_synonyms", False),
        documentation=getattr(request, "include_documentation", False),
    )
    resources = request.resources
    batch = _Batch(context, access, range(len(resources)), resources=resources, shape=shape)
    try:
        await batch.renew()
        _read(batch)
        await _describe(batch)
    except OSError as error:
        batch.answers.clear()
        batch.end(unavailable(error))
    results = tuple(
        refused(shape, resources[number], answer) if isinstance(answer, Denied) else answer
        for number, answer in batch.results()
    )
    return Answered(messages.write(make(cls, {"results": results})), batch.denied)


def _read(batch: _Batch) -> None:
    """What each resource is, and whether it may be described."""
    denied = admin_rights.configs(batch.access, "DescribeConfigs", batch.resources)
    for number, resource in enumerate(paced(batch.resources)):
        why = denied.get((resource.resource_type, resource.resource_name.encode()))
        if why is not None:
            batch.deny(number, why, resource.resource_name)
            continue
        found = resource_named(batch.view, resource.resource_type, resource.resource_name)
        if isinstance(found, Denied):
            batch.answer(number, found)
        else:
            batch.left[number] = found


async def _describe(batch: _Batch) -> None:
    answers = await _ask_topics(batch)
    defaults: Mapping[str, Default] = {}
    if any(isinstance(found, NamespaceResource) for found in batch.left.values()):
        await batch.context.cluster.refresh()
        defaults = await cluster_defaults(batch.context, documentation=batch.shape.documentation)
    for number, found in list(batch.left.items()):
        if number % _AT_ONCE == _AT_ONCE - 1:
            await asyncio.sleep(0)  # others want to go on, too
        resource = batch.resources[number]
        if isinstance(found, NamespaceResource):
            batch.answer(number, _namespace_result(batch, resource, found, defaults))
        else:
            batch.answer(number, _topic_result(batch, resource, found, answers.get(found.flat)))


# -- topics ----------------------------------------------------------------------------------------


async def _ask_topics(batch: _Batch) -> dict[str, Any]:
    """The broker's result for each flat name, asked once however many spellings it has."""
    keys: dict[str, set[str] | None] = {}
    for number, found in paced(batch.left.items()):
        if isinstance(found, TopicResource):
            wanted = without_virtual(batch.resources[number].configuration_keys)
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
        batch.context,
        list(keys),
        every,
        synonyms=batch.shape.synonyms,
        documentation=batch.shape.documentation,
    )
    return {result.resource_name: result for result in paced(response.results)}


def _topic_result(batch: _Batch, resource: Any, topic: TopicResource, answer: Any) -> Any:
    if answer is None or answer.error_code:
        why = _NO_ANSWER
        if answer is not None:
            code = int(answer.error_code)
            state = "does not exist" if code == UNKNOWN_TOPIC_OR_PARTITION else "is not described"
            text = answer.error_message or f"Topic '{topic.name}' {state}."
            why = Denied(code, text, BROKER)
        return refused(batch.shape, resource, in_logical_names(batch.view, why, topic))
    snapshot, flat = batch.view.snapshot, topic.flat
    namespace = snapshot.owner(flat).namespace
    configs = adjust_described(
        answer.configs,
        own_configs(snapshot, flat) if namespace else {c.name for c in answer.configs},
        inherited(snapshot, namespace),
        pending(snapshot, flat) if namespace else (),
    )
    told = [rebuilt(batch.shape, config) for config in configs]
    path = relative_path(batch.view, namespace) if namespace else None
    if path is not None:
        told.append(virtual(batch.shape, NAMESPACE, path))
    # A topic that an alias reaches out of a home does not tell where it is.
    if path is not None or not namespace:
        told += _policies(batch, namespace, always=bool(namespace))
    return described(batch.shape, resource, told)


# -- namespaces ------------------------------------------------------------------------------------


def _namespace_result(
    batch: _Batch, resource: Any, found: NamespaceResource, defaults: Mapping[str, Default]
) -> Any:
    snapshot, path = batch.view.snapshot, found.path
    namespace = snapshot.namespaces.get(path)
    if namespace is None and path:
        message = f"Namespace '{path}' does not exist."
        return refused(
            batch.shape,
            resource,
            Denied(UNKNOWN_TOPIC_OR_PARTITION, message, "namespace"),
        )
    own = {} if namespace is None else namespace.configs
    above = inherited(snapshot, path.rpartition(DELIMITER)[0])
    told = [
        layered(batch.shape, defaults.get(key, Default(key, None)), own.get(key), above.get(key))
        for key in dict.fromkeys([*defaults, *above, *own])
    ]
    told += _facts(batch, path)
    return described(batch.shape, resource, told)


def _facts(batch: _Batch, path: str) -> Iterator[Any]:
    """What is in a namespace, as configs that only a description of all shows; what may not be
    described is left out."""
    snapshot = batch.view.snapshot
    tree = batch.context.trees.of(snapshot, batch.context.cluster.index)
    access = batch.access
    below = [p for p in tree.children.get(path, ()) if access.namespace(DESCRIBE, p) is None]
    shown = [told for p in below if (told := relative_path(batch.view, p)) is not None]
    yield virtual(batch.shape, NAMESPACES, ",".join(shown))
    if access.namespace(DESCRIBE, path) is None:  # which counts for all topics in it
        yield virtual(batch.shape, TOPICS, str(tree.topics[path]), config_type=_INT_TYPE)
    # Users are the cluster's, as in DescribeUserScramCredentials.
    principals = principals_of(snapshot, path) if path and not access.cluster(DESCRIBE) else ""
    if principals:
        yield virtual(batch.shape, PRINCIPALS, principals, config_type=LIST_TYPE)
    for key, (value, _) in sorted(snapshot.effective_settings(path).items()):
        kind = _BOOLEAN_TYPE if value in ("true", "false") else _INT_TYPE
        yield virtual(batch.shape, key, value, config_type=kind)
    if not snapshot.deleting.isdisjoint(parents(path)):
        yield virtual(batch.shape, DELETING, "true", config_type=_BOOLEAN_TYPE)
    yield from _policies(batch, path, always=True)


def _policies(batch: _Batch, namespace: str, *, always: bool) -> Iterator[Any]:
    """Which policies apply in a namespace; unless it is told ``always``, where any is set."""
    found = batch.policies.get(namespace)
    if found is None:
        applying = rows(batch.context.judge.policies, namespace)
        found = batch.policies[namespace] = (anything_set(applying), told_text.text(applying))
    any_set, text = found
    if always or any_set:
        yield virtual(batch.shape, POLICIES, text)
