"""Namespaces and topics in memory, as a gateway's admin requests create, describe, change, move and
delete them. Tests set the items that it rejects."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Self
from uuid import UUID

from gateway.names import LogicalName, encode, flat_prefix, parents
from protocol.messages import element_class, has_field, make

OWN, INHERITED, DEFAULT = 1, 3, 5
DEFAULTS = {"cleanup.policy": "delete", "retention.ms": "604800000"}

Result = tuple[int, str]
"""An error code and its message."""

DONE: Result = (0, "")

Handler = Callable[[Any, type], dict[str, object]]
"""A request entity and the response's class; returns the response's values."""


@dataclass
class Topic:
    partitions: int = 1
    configs: dict[str, str] = field(default_factory=dict)


class FakeNamespaces:
    """``rejections`` are the results of the next items of an API, in order, instead of the model's.
    If ``authorizes``, it has ACLs. ``listed`` are names that are listed in place of its own.
    ``polls`` is how often a deleted namespace is still seen. ``policies`` is the value of
    ``gateway.policies``, by namespace."""

    def __init__(self, *namespaces: str, spelling: str = "colon") -> None:
        self.spelling = spelling
        self.namespaces: dict[str, dict[str, str]] = {}
        self.topics: dict[LogicalName, Topic] = {}
        self.aliases: dict[LogicalName, str] = {}
        self.deleting: dict[str, int] = {}
        self.authorizes = False
        self.polls = 0
        self.lists_namespaces = False
        self.listed: list[str] = []
        self.captured: list[str] = []
        self.policies: dict[str, str] = {}
        self.rejections: defaultdict[str, deque[Result]] = defaultdict(deque)
        for namespace in namespaces:
            self.namespaces |= {tier: {} for tier in parents(namespace)}

    def add(self, *names: str, partitions: int = 1, **configs: str) -> Self:
        """Add topics, by names with colons; ``retention_ms`` is ``retention.ms``."""
        for name in names:
            namespace, _, topic = name.rpartition(":")
            set_on = {key.replace("_", "."): value for key, value in configs.items()}
            self.topics[LogicalName(namespace, topic)] = Topic(partitions, set_on)
        return self

    def named(self) -> set[str]:
        """The names of all topics, with colons."""
        return {str(name) for name in self.topics}

    def handlers(self) -> dict[str, Handler]:
        """The handlers by the name of an API."""
        return {
            "CreateTopics": self._create,
            "DeleteTopics": self._delete,
            "DescribeConfigs": self._describe,
            "IncrementalAlterConfigs": self._alter,
            "Metadata": self._metadata,
        }

    def _rejection(self, api: str) -> Result | None:
        return self.rejections[api].popleft() if self.rejections[api] else None

    def _with_colons(self, spelled: str) -> str:
        """A name as a listener of this spelling reads it."""
        return spelled.replace("/", ":") if self.spelling == "slash" else spelled

    def _shown(self, name: str) -> str:
        return name.replace(":", "/") if self.spelling == "slash" else name

    def _parse(self, spelled: str) -> LogicalName:
        spelled = self._with_colons(spelled)
        bare = spelled.removeprefix(":")
        if ":" in bare:
            namespace, _, topic = bare.rpartition(":")
            return LogicalName(namespace, topic)
        if spelled == bare:
            for namespace in self.namespaces:
                if spelled.startswith(prefix := flat_prefix(namespace)):
                    return LogicalName(namespace, spelled.removeprefix(prefix))
        return LogicalName("", bare)

    def _missing(self, namespace: str) -> Result | None:
        for tier in parents(namespace):
            if tier not in self.namespaces or tier in self.deleting:
                text = f"InvalidNamespaceException: namespace '{tier}' does not exist."
                return 17, text
        return None

    def _create(self, request: Any, response: type) -> dict[str, object]:
        result = element_class(response, "topics")
        results = []
        for topic in request.topics:
            code, message = self._rejection("CreateTopics") or self._create_one(
                topic, validate_only=request.validate_only
            )
            values = {"name": topic.name, "error_code": code, "error_message": message or None}
            results.append(make(result, values | ({} if code else _made(topic, result))))
        return {"topics": tuple(results)}

    def _create_one(self, topic: Any, *, validate_only: bool) -> Result:
        configs = {one.name: one.value for one in topic.configs}
        name = LogicalName(*self._with_colons(str(topic.name)).rpartition(":")[::2])
        if not name.topic:
            path = name.namespace
            if path in self.namespaces:
                return 36, f"Namespace '{path}' already exists."
            if self.captured and configs.pop("gateway.adopt", None) != "true":
                return 17, (
                    f"Namespace '{path}' would capture {', '.join(self.captured)}; "
                    "gateway.adopt=true adopts them."
                )
            if not validate_only:
                self.namespaces = {**{t: {} for t in parents(path)}, **self.namespaces}
                self.namespaces[path] = configs
            return DONE
        if missing := self._missing(name.namespace):
            return missing
        if name in self.topics:
            return 36, f"Topic '{name}' already exists."
        if not validate_only:
            self.topics[name] = Topic(max(topic.num_partitions, 1), configs)
        return DONE

    def _delete(self, request: Any, response: type) -> dict[str, object]:
        names = [str(getattr(topic, "name", topic)) for topic in _asked(request)]
        result = element_class(response, "responses")
        results = []
        for name in names:
            code, message = self._rejection("DeleteTopics") or self._delete_one(name, names)
            values = {"name": name, "error_code": code, "error_message": message or None}
            results.append(make(result, values))
        return {"responses": tuple(results)}

    def _delete_one(self, name: str, names: list[str]) -> Result:
        name, names = self._with_colons(name), [*map(self._with_colons, names)]
        if name.endswith(":"):
            path = name[:-1]
            if path not in self.namespaces or path in self.deleting:
                return 3, f"Namespace '{path}' does not exist."
            below = [one for one in self.namespaces if one.startswith(name)]
            left = [one for one in below if f"{one}:" not in names]
            if left:
                return 42, f"Namespace '{path}' holds namespaces: {', '.join(left)}; delete them."
            self.deleting |= {one: self.polls for one in (path, *below)}
            return DONE
        return DONE if self.topics.pop(self._parse(name), None) else (3, f"No topic '{name}'.")

    def _sweep(self) -> None:
        """Count a poll: everything that is being deleted goes once it was seen often enough."""
        for path, polls in list(self.deleting.items()):
            inside = [name for name in self.topics if name.namespace == path]
            if inside:
                del self.topics[inside[0]]
            elif polls:
                self.deleting[path] = polls - 1
            else:
                del self.deleting[path]
                del self.namespaces[path]

    def _describe(self, request: Any, response: type) -> dict[str, object]:
        result = element_class(response, "results")
        config = element_class(result, "configs")
        synonym = element_class(config, "synonyms")
        results = []
        for resource in request.resources:
            spelled, keys = resource.resource_name, resource.configuration_keys
            code, message = self._rejection("DescribeConfigs") or DONE
            found = None if code else self._configs_of(spelled)
            if found is None and not code:
                code, message = 3, f"'{spelled}' does not exist."
            configs = []
            for key, (value, source) in (found or {}).items():
                if keys is not None and key not in keys:
                    continue
                own = make(synonym, {"name": key, "value": value, "source": source})
                one = {
                    "name": key,
                    "value": value,
                    "config_source": source,
                    "synonyms": (own,) if request.include_synonyms else (),
                }
                configs.append(make(config, one))
            values = {
                "error_code": code,
                "error_message": message or None,
                "resource_type": resource.resource_type,
                "resource_name": spelled,
                "configs": tuple(configs),
            }
            results.append(make(result, values))
        self._sweep()
        return {"results": tuple(results)}

    def _configs_of(self, spelled: str) -> dict[str, tuple[str, int]] | None:
        name = LogicalName("", "") if self._with_colons(spelled) == ":" else self._parse(spelled)
        path = name.namespace
        if name.topic:
            if name not in self.topics:
                return None
            found = {**self._inherited(path, INHERITED), **_as(self.topics[name].configs, OWN)}
            return {**found, "gateway.namespace": (path, DEFAULT)} if path else found
        if path and path not in self.namespaces:
            return None
        prefix = f"{path}:" if path else ""
        rest = {one: one.removeprefix(prefix) for one in self.namespaces if one.startswith(prefix)}
        inside = sorted(one for one, left in rest.items() if ":" not in left)
        found = self._inherited(path, INHERITED) | _as(self.namespaces.get(path, {}), OWN)
        found["gateway.namespaces"] = (",".join(inside), DEFAULT)
        count = sum(topic.namespace == path for topic in self.topics)
        found["gateway.topics"] = (str(count), DEFAULT)
        if path in self.deleting:
            found["gateway.deleting"] = ("true", DEFAULT)
        if path in self.policies:
            found["gateway.policies"] = (self.policies[path], DEFAULT)
        return found

    def _inherited(self, path: str, source: int) -> dict[str, tuple[str, int]]:
        found = _as(DEFAULTS, DEFAULT)
        for tier in parents(path):
            found |= _as(self.namespaces.get(tier, {}), source)
        return found

    def _alter(self, request: Any, response: type) -> dict[str, object]:
        result = element_class(response, "responses")
        results = []
        for resource in request.resources:
            code, message = self._rejection("IncrementalAlterConfigs") or self._alter_one(
                resource, validate_only=request.validate_only
            )
            values = {
                "error_code": code,
                "error_message": message or None,
                "resource_type": resource.resource_type,
                "resource_name": resource.resource_name,
            }
            results.append(make(result, values))
        return {"responses": tuple(results)}

    def _alter_one(self, resource: Any, *, validate_only: bool) -> Result:
        name = self._parse(resource.resource_name)
        known = name in self.topics if name.topic else name.namespace in self.namespaces
        if not known:
            return 3, f"'{resource.resource_name}' does not exist."
        changes = {one.name: (one.config_operation, one.value) for one in resource.configs}
        if changes.keys() & {"gateway.namespace", "gateway.release"}:
            return self._move(name, changes, validate_only=validate_only)
        if any(value == "soon" for _, value in changes.values()):
            return 40, "Invalid value soon for configuration retention.ms."
        configs = self.topics[name].configs if name.topic else self.namespaces[name.namespace]
        for key, (operation, value) in changes.items():
            if operation == 0 and not validate_only:
                configs[key] = value
            elif not validate_only:
                configs.pop(key, None)
        return DONE

    def _move(
        self, name: LogicalName, changes: dict[str, tuple[int, str]], *, validate_only: bool
    ) -> Result:
        if "gateway.release" in changes:
            target = LogicalName("", encode(name))
        else:
            _, namespace = changes["gateway.namespace"]
            target = LogicalName(namespace, changes.get("gateway.topic", (0, name.topic))[1])
        if missing := self._missing(target.namespace):
            return missing
        if target in self.topics:
            return 36, f"Topic '{target}' already exists."
        if not validate_only:
            self.topics[target] = self.topics.pop(name)
            if "gateway.alias.until" in changes:
                self.aliases[name] = changes["gateway.alias.until"][1]
        return DONE

    def _metadata(self, request: Any, response: type) -> dict[str, object]:
        topic = element_class(response, "topics")
        if request.topics is None:
            known = [] if self.listed else self.topics
            names = [name for name in known if name.namespace not in self.deleting]
            topics = [self._listed(topic, name) for name in names]
            topics += [make(topic, {"name": name}) for name in self.listed]
            if self.lists_namespaces:
                topics += [self._namespace(topic, path) for path in self.namespaces]
        else:
            topics = [self._named(topic, str(one.name)) for one in request.topics]
        return {"topics": tuple(topics)}

    def _listed(self, cls: type, name: LogicalName) -> Any:
        colon = str(name)
        if not name.namespace and self._parse(name.topic) != name:
            colon = f":{name.topic}"
        spelled = encode(name) if self.spelling == "legal" else self._shown(colon)
        return self._topic(cls, spelled, name)

    def _namespace(self, cls: type, path: str) -> Any:
        spelled = flat_prefix(path) if self.spelling == "legal" else self._shown(f"{path}:")
        return make(cls, {"name": spelled, "is_internal": True})

    def _named(self, cls: type, spelled: str) -> Any:
        name = self._parse(spelled)
        rejection = self._rejection("Metadata") or (DONE if name in self.topics else (3, ""))
        if rejection[0]:
            return make(cls, {"name": spelled, "error_code": rejection[0]})
        return self._topic(cls, spelled, name)

    def _topic(self, cls: type, spelled: str, name: LogicalName) -> Any:
        partition = element_class(cls, "partitions")
        partitions = tuple(
            make(
                partition,
                {
                    "partition_index": index,
                    "leader_id": 1 if index else -1,
                    "replica_nodes": (1, 2),
                    "isr_nodes": (1,),
                },
            )
            for index in range(self.topics[name].partitions)
        )
        values = {"name": spelled, "topic_id": UUID(int=1), "partitions": partitions}
        return make(cls, values)


def _made(topic: Any, result: type) -> dict[str, object]:
    """The fields of a topic from version 5 on: a namespace has no partitions."""
    if not has_field(result, "configs"):
        return {}
    config = element_class(result, "configs")
    configs = {
        **_as(DEFAULTS, DEFAULT),
        "min.insync.replicas": ("2", INHERITED),
        **_as({one.name: one.value for one in topic.configs}, OWN),
    }
    told = tuple(
        make(config, {"name": key, "value": value, "config_source": source})
        for key, (value, source) in configs.items()
    )
    is_topic = not topic.name.endswith(":")
    return {
        "num_partitions": max(topic.num_partitions, 1) if is_topic else 0,
        "replication_factor": max(topic.replication_factor, 1) if is_topic else -1,
        "configs": told,
    }


def _asked(request: Any) -> Iterable[Any]:
    topics: Iterable[Any] = getattr(request, "topics", None) or request.topic_names
    return topics


def _as(configs: dict[str, str], source: int) -> dict[str, tuple[str, int]]:
    return {key: (value, source) for key, value in configs.items()}
