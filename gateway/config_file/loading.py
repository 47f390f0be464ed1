"""The configuration: what ``kafka-gateway serve --config FILE`` reads.

The models stand in ``config_models``, what keys mean together in ``config_rules``, where they
were written in ``config_yaml``, and how mistakes are told in ``config_errors``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from gateway.config.errors import ConfigError, Problem, problems_of
from gateway.config.models import (
    Address,
    CatalogSettings,
    Cluster,
    Config,
    Listener,
    MetricsSettings,
    Namespace,
    NodeIds,
    TrafficLogSettings,
)
from gateway.config.security import AuditSettings, ClusterSecurity
from gateway.config_file.rules import Parts, cross_problems
from gateway.config_file.yaml_lines import Document, UnreadableError, read_document
from gateway.node_ids import NodeIdRanges

__all__ = [
    "Address",
    "CatalogSettings",
    "Cluster",
    "Config",
    "ConfigError",
    "Listener",
    "MetricsSettings",
    "TrafficLogSettings",
    "load_config",
    "with_lines",
]

_Value = TypeVar("_Value")

_NAMESPACES: TypeAdapter[tuple[str, ...]] = TypeAdapter(tuple[Namespace, ...])
_NODE_IDS: TypeAdapter[tuple[str, ...]] = TypeAdapter(NodeIds)
_LISTENER = TypeAdapter(Listener)
_SECURITY = TypeAdapter(ClusterSecurity)
_METRICS = TypeAdapter(MetricsSettings)
_AUDIT = TypeAdapter(AuditSettings)
_CATALOG = TypeAdapter(CatalogSettings)
_TRAFFIC_LOG = TypeAdapter(TrafficLogSettings)


def load_config(path: Path) -> Config:
    """Read and check a file.

    Raises :class:`ConfigError` with every problem found, a line each:
    ``FILE:LINE: key.path: what is wrong; what to do``.
    """
    try:
        document = read_document(path)
    except UnreadableError as error:
        raise ConfigError(path, [error.problem]) from error
    problems = list(document.problems)
    config = None
    try:
        config = Config.model_validate(document.value)
    except ValidationError as error:
        problems += problems_of(error, Config)
    problems += cross_problems(_parts(document.value))
    if problems or config is None:
        raise ConfigError(path, [_placed(problem, document) for problem in problems])
    return config


def with_lines(path: Path, problems: Sequence[Problem]) -> ConfigError:
    """Problems of a file that was read before, told with the lines of their keys."""
    try:
        document = read_document(path)
    except UnreadableError:
        return ConfigError(path, problems)
    return ConfigError(path, [_placed(problem, document) for problem in problems])


def _placed(problem: Problem, document: Document) -> Problem:
    """The problem with the line of its key, or of what should hold that key."""
    return problem if problem.line else problem._replace(line=document.line_of(problem.key))


def _parts(values: dict[str, Any]) -> Parts:
    """What can be understood of a file, so that a mistake in one part hides none in another."""
    listeners = values.get("listeners")
    clusters = values.get("clusters")
    first = clusters[0] if isinstance(clusters, tuple) and clusters else None
    node_ids = _valid(_NODE_IDS, first.get("node_ids")) if isinstance(first, dict) else None
    items = enumerate(listeners) if isinstance(listeners, tuple) else ()
    read = ((index, _valid(_LISTENER, item)) for index, item in items)
    return Parts(
        clusters=len(clusters) if isinstance(clusters, tuple) else 0,
        ranges=None if node_ids is None else NodeIdRanges.parse(node_ids),
        namespaces=_valid(_NAMESPACES, values.get("namespaces", ())),
        listeners={index: listener for index, listener in read if listener is not None},
        metrics=_valid(_METRICS, values.get("metrics", {})),
        audit=_valid(_AUDIT, values.get("audit", {})),
        traffic_log=_valid(_TRAFFIC_LOG, values.get("traffic_log", {})),
        catalog=_valid(_CATALOG, values.get("catalog", {})),
        authorizes=values.get("authorization") is not None,
        security=_valid(_SECURITY, first.get("security", {})) if isinstance(first, dict) else None,
    )


def _valid(kind: TypeAdapter[_Value], value: object) -> _Value | None:
    try:
        return kind.validate_python(value)
    except ValidationError:
        return None
