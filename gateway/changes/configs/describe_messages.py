"""DescribeConfigs on the client's side: results and configs of the version that it speaks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gateway.changes.base.resources import DEFAULT, INHERITED, OWN
from gateway.changes.base.virtual_configs import DOCUMENTATION
from gateway.changes.inheritance.namespace_configs import STRING_TYPE, Default
from gateway.decision import Denied
from protocol.messages import element_class, make
from protocol.pausing import FEW, paced


@dataclass(frozen=True, slots=True)
class Shape:
    """What a client wants to see of a config; ``result_class`` and its parts are of its version."""

    result_class: type
    synonyms: bool
    documentation: bool


def rebuilt(shape: Shape, config: Any) -> Any:
    """A config of the broker's version as one of the client's."""
    values: dict[str, object] = {
        "config_type": getattr(config, "config_type", 0),
        "documentation": getattr(config, "documentation", None),
    }
    for name in ("name", "value", "read_only", "config_source", "is_sensitive"):
        values[name] = getattr(config, name)
    return _config(shape, values, ((s.name, s.value, s.source) for s in config.synonyms))


def layered(shape: Shape, default: Default, own: str | None, above: str | None) -> Any:
    """A config of a namespace: its own value before what is above it, before the cluster's."""
    key = default.key
    layers = [
        (key, value, source)
        for value, source in ((own, OWN), (above, INHERITED))
        if value is not None
    ]
    _, value, source = layers[0] if layers else (key, default.value, default.source)
    values: dict[str, object] = {
        "name": key,
        "value": None if default.is_sensitive else value,
        "read_only": default.read_only,
        "config_source": source,
        "is_sensitive": default.is_sensitive,
        "config_type": default.config_type,
        "documentation": default.documentation,
    }
    return _config(shape, values, (*layers, *default.synonyms) if shape.synonyms else ())


def virtual(shape: Shape, key: str, value: str, *, config_type: int = STRING_TYPE) -> Any:
    """A config that the gateway makes up; ``key`` is one of DOCUMENTATION.

    All of them are read-only defaults (``gateway.changes.base.virtual_configs`` tells why).
    """
    values: dict[str, object] = {
        "name": key,
        "value": value,
        "read_only": True,
        "config_source": DEFAULT,
        "config_type": config_type,
        "documentation": DOCUMENTATION[key] if shape.documentation else None,
    }
    return _config(shape, values, ((key, value, DEFAULT),) if shape.synonyms else ())


def _config(
    shape: Shape, values: Mapping[str, object], synonyms: Iterable[tuple[str, str | None, int]]
) -> Any:
    """A config of the client's version; ``synonyms`` are (name, value, source), the one in force
    first."""
    cls = element_class(shape.result_class, "configs")
    synonym_class = element_class(cls, "synonyms")
    told = tuple(
        make(synonym_class, {"name": name, "value": value, "source": source})
        for name, value, source in synonyms
    )
    return make(cls, {**values, "synonyms": told})


def described(shape: Shape, resource: Any, configs: Sequence[Any]) -> Any:
    """The result of a resource: those of the configs that it is asked for."""
    keys: Collection[str] | None = resource.configuration_keys or None
    if keys is not None and len(keys) > FEW:
        keys = frozenset(paced(keys))
    values: dict[str, object] = {
        "resource_type": resource.resource_type,
        "resource_name": resource.resource_name,
        "configs": tuple(c for c in configs if keys is None or c.name in keys),
    }
    return make(shape.result_class, values)


def refused(shape: Shape, resource: Any, why: Denied) -> Any:
    """The result of a resource that is not described."""
    values: dict[str, object] = {
        "error_code": why.code,
        "error_message": why.message,
        "resource_type": resource.resource_type,
        "resource_name": resource.resource_name,
    }
    return make(shape.result_class, values)
