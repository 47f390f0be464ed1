"""DescribeConfigs of namespaces, and of topics with what they inherit told as such.

A topic's own configs are DYNAMIC_TOPIC_CONFIG, which is what stock tools show by default, those
of its namespaces DYNAMIC_DEFAULT_BROKER_CONFIG. A namespace is described as a topic in it would
be.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gateway.access import Access
from gateway.catalog.snapshot import Snapshot
from gateway.changes import admin_rights
from gateway.changes.answered import Answered
from gateway.changes.cluster_defaults import STRING_TYPE, Default, cluster_defaults
from gateway.changes.context import Context
from gateway.changes.home_principals import principals_of
from gateway.changes.namespace_configs import LIST_TYPE
from gateway.changes.refused import unavailable
from gateway.changes.resources import (
    NamespaceResource,
    TopicResource,
    in_logical_names,
    relative_path,
    renewed,
    resource_named,
    without_virtual,
)
from gateway.changes.topic_configs import (
    DEFAULT,
    INHERITED,
    OWN,
    adjust_described,
    describe,
    inherited,
    own_configs,
    pending,
)
from gateway.changes.virtual_configs import (
    DELETING,
    DOCUMENTATION,
    NAMESPACE,
    NAMESPACES,
    PRINCIPALS,
    TOPICS,
)
from gateway.decision import Denied
from gateway.error_codes import UNKNOWN_TOPIC_OR_PARTITION
from gateway.names import DELIMITER, parents
from gateway.rules.configs import Resource as ConfigResource
from gateway.rules.nested import element_class, make
from gateway.view import View
from protocol import messages

_INT_TYPE: Final = 3
_BOOLEAN_TYPE: Final = 1
_NO_ANSWER: Final = Denied(UNKNOWN_TOPIC_OR_PARTITION, "The broker does not say.", "broker")


_AT_ONCE: Final = 100
"""Resources that are described in one go."""


@dataclass(frozen=True, slots=True)
class _Request:
    """``result_class`` and its parts are of the client's version."""

    context: Context
    access: Access
    result_class: type
    synonyms: bool
    documentation: bool

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
    result_class = element_class(cls, "results")
    denied: Mapping[ConfigResource, Denied] = {}
    synonyms = getattr(request, "include_synonyms", False)
    documentation = getattr(request, "include_documentation", False)
    try:
        access = access.over(await renewed(context, access.view))
        asked = _Request(context, access, result_class, synonyms, documentation)
        denied = admin_rights.configs(access, "DescribeConfigs", request.resources)
        results = await _results(asked, request.resources, denied)
    except OSError as error:
        why = unavailable(error)
        results = [_error(result_class, resource, why) for resource in request.resources]
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
        defaults = await cluster_defaults(asked.context, documentation=asked.documentation)
    results: list[Any] = []
    for number, (resource, found) in enumerate(zip(resources, what, strict=True)):
        if number % _AT_ONCE == _AT_ONCE - 1:
            await asyncio.sleep(0)  # others want to go on, too
        if isinstance(found, Denied):
            results.append(_error(asked.result_class, resource, found))
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
    for resource, found in zip(resources, what, strict=True):
        if isinstance(found, TopicResource):
            wanted = without_virtual(resource.configuration_keys)
            before = keys.get(found.flat, set())
            keys[found.flat] = None if wanted is None or before is None else before.union(wanted)
    if not keys:
        return {}
    every = None if None in keys.values() else set().union(*(k for k in keys.values() if k))
    response = await describe(
        asked.context,
        list(keys),
        every,
        synonyms=asked.synonyms,
        documentation=asked.documentation,
    )
    return {result.resource_name: result for result in response.results}


def _topic_result(asked: _Request, resource: Any, topic: TopicResource, answer: Any) -> Any:
    if answer is None or answer.error_code:
        why = _NO_ANSWER
        if answer is not None:
            code = int(answer.error_code)
            state = "does not exist" if code == UNKNOWN_TOPIC_OR_PARTITION else "is not described"
            text = answer.error_message or f"Topic '{topic.name}' {state}."
            why = Denied(code, text, "broker")
        return _error(asked.result_class, resource, in_logical_names(asked.view, why, topic))
    snapshot, flat = asked.snapshot, topic.flat
    namespace = snapshot.owner(flat).namespace
    configs = adjust_described(
        answer.configs,
        own_configs(snapshot, flat) if namespace else {c.name for c in answer.configs},
        inherited(snapshot, namespace),
        pending(snapshot, flat) if namespace else (),
    )
    told = [_rebuilt(asked, config) for config in configs]
    path = relative_path(asked.view, namespace) if namespace else None
    if path is not None:
        told.append(_virtual(asked, NAMESPACE, path, OWN, read_only=False))
    return _result(asked.result_class, resource, told)


def _rebuilt(asked: _Request, config: Any) -> Any:
    """A config of the broker's version as one of the client's."""
    cls = element_class(asked.result_class, "configs")
    synonym_class = element_class(cls, "synonyms")
    synonyms = tuple(
        make(synonym_class, {"name": s.name, "value": s.value, "source": s.source})
        for s in config.synonyms
    )
    names = ("name", "value", "read_only", "config_source", "is_sensitive")
    values = {name: getattr(config, name) for name in names}
    more = {
        "config_type": getattr(config, "config_type", 0),
        "documentation": getattr(config, "documentation", None),
    }
    return make(cls, {**values, **more, "synonyms": synonyms})


# -- namespaces ------------------------------------------------------------------------------------


def _namespace_result(
    asked: _Request, resource: Any, found: NamespaceResource, defaults: Mapping[str, Default]
) -> Any:
    snapshot, path = asked.snapshot, found.path
    namespace = snapshot.namespaces.get(path)
    if namespace is None and path:
        message = f"Namespace '{path}' does not exist."
        return _error(
            asked.result_class, resource, Denied(UNKNOWN_TOPIC_OR_PARTITION, message, "namespace")
        )
    own = {} if namespace is None else namespace.configs
    above = inherited(snapshot, path.rpartition(DELIMITER)[0])
    told = [
        _told(asked, defaults.get(key, Default(key, None)), own.get(key), above.get(key))
        for key in dict.fromkeys([*defaults, *above, *own])
    ]
    told += _facts(asked, path)
    return _result(asked.result_class, resource, told)


def _told(asked: _Request, default: Default, own: str | None, above: str | None) -> Any:
    """A config of a namespace: its own value before what is above it, before the cluster's."""
    key = default.key
    layers = [
        (key, value, source)
        for value, source in ((own, OWN), (above, INHERITED))
        if value is not None
    ]
    _, value, source = layers[0] if layers else (key, default.value, default.source)
    cls = element_class(asked.result_class, "configs")
    synonym_class = element_class(cls, "synonyms")
    synonyms = (*layers, *default.synonyms) if asked.synonyms else ()
    values: dict[str, object] = {
        "name": key,
        "value": None if default.is_sensitive else value,
        "read_only": default.read_only,
        "config_source": source,
        "is_sensitive": default.is_sensitive,
        "config_type": default.config_type,
        "documentation": default.documentation,
        "synonyms": tuple(
            make(synonym_class, {"name": name, "value": text, "source": layer})
            for name, text, layer in synonyms
        ),
    }
    return make(cls, values)


def _facts(asked: _Request, path: str) -> Iterator[Any]:
    """What is in a namespace, as configs that only a description of all shows."""
    snapshot = asked.snapshot
    tree = asked.context.trees.of(snapshot, asked.context.cluster.index)
    below = tree.children.get(path, ())
    shown = [told for p in below if (told := relative_path(asked.view, p)) is not None]
    yield _virtual(asked, NAMESPACES, ",".join(shown), DEFAULT)
    yield _virtual(asked, TOPICS, str(tree.topics[path]), DEFAULT, config_type=_INT_TYPE)
    principals = principals_of(snapshot, path) if path else ""
    if principals:
        yield _virtual(asked, PRINCIPALS, principals, OWN, read_only=False, config_type=LIST_TYPE)
    if not snapshot.deleting().isdisjoint(parents(path)):
        yield _virtual(asked, DELETING, "true", DEFAULT, config_type=_BOOLEAN_TYPE)


# -- results ---------------------------------------------------------------------------------------


def _virtual(
    asked: _Request,
    key: str,
    value: str,
    source: int,
    *,
    read_only: bool = True,
    config_type: int = STRING_TYPE,
) -> Any:
    cls = element_class(asked.result_class, "configs")
    synonym_class = element_class(cls, "synonyms")
    synonym = make(synonym_class, {"name": key, "value": value, "source": source})
    values: dict[str, object] = {
        "name": key,
        "value": value,
        "read_only": read_only,
        "config_source": source,
        "synonyms": (synonym,) if asked.synonyms else (),
        "config_type": config_type,
        "documentation": DOCUMENTATION[key] if asked.documentation else None,
    }
    return make(cls, values)


def _result(cls: type, resource: Any, configs: Sequence[Any]) -> Any:
    keys: Collection[str] | None = resource.configuration_keys or None
    values: dict[str, object] = {
        "resource_type": resource.resource_type,
        "resource_name": resource.resource_name,
        "configs": tuple(c for c in configs if keys is None or c.name in keys),
    }
    return make(cls, values)


def _error(cls: type, resource: Any, why: Denied) -> Any:
    values: dict[str, object] = {
        "error_code": why.code,
        "error_message": why.message,
        "resource_type": resource.resource_type,
        "resource_name": resource.resource_name,
    }
    return make(cls, values)
