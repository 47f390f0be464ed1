"""DescribeConfigs of namespaces, and of topics, whose inherited configs are shown as inherited.

A topic's own configs are DYNAMIC_TOPIC_CONFIG, which stock tools show by default; the configs of
its namespaces are DYNAMIC_DEFAULT_BROKER_CONFIG. A namespace is described as a topic in it would
be. The configs ``gateway.*`` that the gateway adds to both are read-only defaults.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from gateway.catalog.freezes import Frozen, freezes_in
from gateway.changes.base import admin_rights
from gateway.changes.base.broker import Default, cluster_defaults, describe
from gateway.changes.base.context import ATTEMPTS, MOVED, Answered, Batch, Context
from gateway.changes.base.inherited import adjust_described, inherited, own_configs, pending
from gateway.changes.base.rejected import BROKER, try_again, unavailable
from gateway.changes.base.resources import (
    LIST_TYPE,
    NamespaceResource,
    TopicResource,
    in_logical_names,
    relative_path,
    resource_named,
)
from gateway.changes.base.virtual_configs import (
    AUTHORIZATION,
    DELETING,
    LINK,
    LINK_TO,
    LINKS,
    NAMESPACE,
    NAMESPACES,
    POLICIES,
    PRINCIPALS,
    SPELLING,
    TOPICS,
    is_of_listener,
    without_virtual,
)
from gateway.changes.configs.config_shape import INT_TYPE, Shape
from gateway.changes.configs.described_links import links_text, namespace_text, topic_text
from gateway.changes.namespaces.namespace_settings import principals_of
from gateway.decision import Denied
from gateway.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from gateway.names import DELIMITER, parents
from gateway.policies.applied import anything_set, applied_rules
from gateway.policies.applied_text import rules_text
from gateway.views.access import DESCRIBE, Access
from protocol import messages
from protocol.messages import element_class, make
from protocol.pausing import paced

_BOOLEAN_TYPE: Final = 1
_NO_ANSWER: Final = try_again("The broker does not describe the topic now")

_CHANGING: Final = try_again("The catalog keeps changing meanwhile")

_AT_ONCE: Final = 100
"""Resources that are described without a pause."""

_MANY_KEYS: Final = 1_000
"""Config keys of one resource in a request. With more keys the broker is queried for all configs,
which are fewer."""

_MANY_VALUES: Final = 100_000
"""Config keys times topics in a query, with the same effect: every topic is queried for the keys
that the request has for any topic."""


@dataclass(slots=True, kw_only=True)
class _Batch(Batch[int, TopicResource | NamespaceResource, Any]):
    """One request. ``policies`` caches, by namespace, whether any policies are set, and the text
    about them."""

    resources: Sequence[Any]
    shape: Shape
    policies: dict[str, tuple[bool, str]] = field(default_factory=dict)
    described: Mapping[int, TopicResource | NamespaceResource] = field(default_factory=dict)
    """What was described, by the number of its resource."""


async def describe_configs(context: Context, access: Access, version: int, body: bytes) -> Answered:
    """DescribeConfigs: whole bodies in the client's names, in and out. Raises ProtocolError."""
    request = messages.parse("DescribeConfigsRequest", version, body)
    cls = messages.message_class("DescribeConfigsResponse", version)
    shape = Shape(
        element_class(cls, "results"),
        synonyms=getattr(request, "include_synonyms", False),
        documentation=getattr(request, "include_documentation", False),
    )
    resources = request.resources
    batch = _Batch(
        context,
        access,
        range(len(resources)),
        spelled=lambda number: resources[number].resource_name,
        resources=resources,
        shape=shape,
    )
    try:
        await batch.refresh()
        _read(batch)
        await _describe(batch)
        await _look_again(batch)
    except OSError as error:
        batch.answers.clear()
        batch.reject(unavailable(error))
    results = tuple(
        shape.rejected(resources[number], answer) if isinstance(answer, Denied) else answer
        for number, answer in batch.results()
    )
    return batch.answered(messages.write(make(cls, {"results": results})))


def _read(batch: _Batch) -> None:
    """Find the topics and namespaces that may be described."""
    denied = admin_rights.configs(batch.access, "DescribeConfigs", batch.resources)
    for number, resource in enumerate(paced(batch.resources)):
        why = denied.get((resource.resource_type, resource.resource_name.encode()))
        if why is not None:
            batch.answer(number, why)
            continue
        found = resource_named(batch.view, resource.resource_type, resource.resource_name)
        if isinstance(found, Denied):
            batch.answer(number, found)
        else:
            batch.left[number] = found


async def _look_again(batch: _Batch) -> None:
    """Deny what the client may not be told any more, or what its name does not lead to any more.
    The gateway's own queries take as long as brokers like, and meanwhile a right may be revoked, or
    a topic moved. A freeze does not wait for what only tells, so a frozen topic is denied, too.
    Raises OSError if the catalog is out of date by now."""
    catalog = batch.context.catalog
    if not catalog.fresh:
        await catalog.refresh()
    described, answers = dict(batch.described), dict(batch.answers)
    for _ in range(ATTEMPTS):
        snapshot = catalog.snapshot
        if batch.view.snapshot is snapshot and not freezes_in(snapshot):
            return
        frozen = Frozen.of(freezes_in(snapshot).values())
        batch.access = batch.access.on(snapshot, frozen)
        batch.restart()
        _read(batch)
        for number, found in paced(list(batch.left.items())):
            same = described.get(number) == found
            batch.answer(number, answers[number] if same else MOVED)
        if catalog.snapshot is snapshot:
            return
    batch.reject(_CHANGING, batch.keys)


async def _describe(batch: _Batch) -> None:
    answers = await _query_topics(batch)
    batch.described = dict(batch.left)
    defaults: Mapping[str, Default] = {}
    if any(
        isinstance(found, NamespaceResource) and not is_of_listener(batch.resources[number])
        for number, found in batch.left.items()
    ):
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


async def _query_topics(batch: _Batch) -> dict[str, Any]:
    """The broker's result for each flat name, queried once even if the request has several
    spellings of the name."""
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
    if every is not None and len(every) * len(keys) > _MANY_VALUES:
        every = None
    return await describe(
        batch.context,
        list(keys),
        every,
        synonyms=batch.shape.synonyms,
        documentation=batch.shape.documentation,
    )


def _topic_result(batch: _Batch, resource: Any, topic: TopicResource, answer: Any) -> Any:
    shape = batch.shape
    if answer is None:
        return _NO_ANSWER
    if answer.error_code:
        why = Denied(int(answer.error_code), answer.error_message or "", BROKER)
        why = in_logical_names(batch.access, why, topic)
        if not why.message:
            state = (
                "does not exist" if why.code == UNKNOWN_TOPIC_OR_PARTITION else "is not described"
            )
            why = replace(why, message=f"Topic '{topic.name}' {state}.")
        return why
    snapshot, flat = batch.view.snapshot, topic.flat
    link = batch.view.link_named(topic.name) if snapshot.links else None
    namespace = snapshot.owner(flat).namespace
    adjusted = adjust_described(
        answer.configs,
        own_configs(snapshot, flat) if namespace else {c.name for c in answer.configs},
        inherited(snapshot, namespace),
        pending(snapshot, flat) if namespace else (),
    )
    configs = [shape.rebuilt(config) for config in adjusted]
    if link is not None:
        # The topic's policies are those of its namespace, which the client may not be allowed to
        # describe.
        if link.name.namespace:
            inside = relative_path(batch.view, link.name.namespace)
            configs.append(shape.virtual(NAMESPACE, inside or ""))
        configs.append(shape.virtual(LINK_TO, topic_text(batch.access, link)))
        return shape.described(resource, configs)
    links = links_text(batch.access, flat)
    if links:
        configs.append(shape.virtual(LINK, links, config_type=LIST_TYPE))
    path = relative_path(batch.view, namespace) if namespace else None
    if path is not None:
        configs.append(shape.virtual(NAMESPACE, path))
    # If an alias reaches a topic outside of the home, the topic's namespace is not shown.
    if path is not None or not namespace:
        configs += _policies(batch, namespace, always=bool(namespace))
    return shape.described(resource, configs)


def _namespace_result(
    batch: _Batch, resource: Any, found: NamespaceResource, defaults: Mapping[str, Default]
) -> Any:
    snapshot, path, shape = batch.view.snapshot, found.path, batch.shape
    namespace = snapshot.namespaces.get(path)
    if namespace is None and path:
        message = f"Namespace '{path}' does not exist."
        why = Denied(UNKNOWN_TOPIC_OR_PARTITION, message, "namespace")
        return why
    if is_of_listener(resource):
        return shape.described(resource, [*_of_listener(batch, path)])
    own = {} if namespace is None else namespace.configs
    above = inherited(snapshot, path.rpartition(DELIMITER)[0])
    configs = [
        shape.layered(defaults.get(key, Default(key, None)), own.get(key), above.get(key))
        for key in dict.fromkeys([*defaults, *above, *own])
    ]
    virtual = (*_content(batch, path), *_of_listener(batch, path))
    return shape.described(resource, [*configs, *virtual, *_policies(batch, path, always=True)])


def _of_listener(batch: _Batch, path: str) -> Iterator[Any]:
    """How the listener works, as configs of its outermost namespace."""
    shape, settings = batch.shape, batch.view.settings
    if path == settings.home:
        yield shape.virtual(SPELLING, settings.spelling)
        authorizes = str(batch.access.authorizes).lower()
        yield shape.virtual(AUTHORIZATION, authorizes, config_type=_BOOLEAN_TYPE)


def _content(batch: _Batch, path: str) -> Iterator[Any]:
    """The content of a namespace, as configs that only its full description shows. Namespaces,
    topics and links that the client may not describe are left out."""
    snapshot, shape, access = batch.view.snapshot, batch.shape, batch.access
    tree = batch.context.trees.of(snapshot, batch.context.cluster.index)
    children = paced(tree.children.get(path, ()))
    below = [one for one in children if access.namespace(DESCRIBE, one) is None]
    relative = (relative_path(batch.view, one) for one in paced(below))
    shown = [one for one in relative if one is not None]
    yield shape.virtual(NAMESPACES, ",".join(shown))
    if access.namespace(DESCRIBE, path) is None:  # which counts for all topics in it
        yield shape.virtual(TOPICS, str(tree.topics[path]), config_type=INT_TYPE)
    links = namespace_text(batch.access, path, batch.context.cluster.index)
    if links:
        yield shape.virtual(LINKS, links, config_type=LIST_TYPE)
    # Users belong to the cluster, as in DescribeUserScramCredentials.
    principals = principals_of(snapshot, path) if path and not access.cluster(DESCRIBE) else ""
    if principals:
        yield shape.virtual(PRINCIPALS, principals, config_type=LIST_TYPE)
    for key, (value, _) in sorted(snapshot.effective_settings(path).items()):
        kind = _BOOLEAN_TYPE if value in ("true", "false") else INT_TYPE
        yield shape.virtual(key, value, config_type=kind)
    if not snapshot.deleting.isdisjoint(parents(path)):
        yield shape.virtual(DELETING, "true", config_type=_BOOLEAN_TYPE)


def _policies(batch: _Batch, namespace: str, *, always: bool) -> Iterator[Any]:
    """The policies that apply in a namespace; unless ``always`` is set, only if any policy is
    set."""
    found = batch.policies.get(namespace)
    if found is None:
        applying = applied_rules(batch.context.judge.policies, namespace)
        found = batch.policies[namespace] = (anything_set(applying), rules_text(applying))
    any_set, text = found
    if always or any_set:
        yield batch.shape.virtual(POLICIES, text)
