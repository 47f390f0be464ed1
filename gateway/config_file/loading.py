"""Reading a configuration file: its keys (gateway/config), lines, and the rules between keys."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from gateway.config.errors import ConfigError, Problem, problems_of
from gateway.config.models import (
    CatalogSettings,
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

_Value = TypeVar("_Value")

_NAMESPACES: TypeAdapter[tuple[str, ...]] = TypeAdapter(tuple[Namespace, ...])
_NODE_IDS: TypeAdapter[tuple[str, ...]] = TypeAdapter(NodeIds)


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
    """Problems of a file that was read before, with the lines of their keys."""
    try:
        document = read_document(path)
    except UnreadableError:
        return ConfigError(path, problems)
    return ConfigError(path, [_placed(problem, document) for problem in problems])


def _placed(problem: Problem, document: Document) -> Problem:
    """The problem with the line of its key, or of what should hold that key."""
    return problem if problem.line else problem._replace(line=document.line_of(problem.key))


def _parts(values: dict[str, Any]) -> Parts:
    """The valid parts of a file, so that a mistake in one part hides none in another."""
    listeners = values.get("listeners")
    clusters = values.get("clusters")
    first = clusters[0] if isinstance(clusters, tuple) and clusters else None
    cluster = first if isinstance(first, dict) else {"security": None}
    node_ids = _valid(_NODE_IDS, cluster.get("node_ids"))
    items = enumerate(listeners) if isinstance(listeners, tuple) else ()
    read = ((index, _valid(TypeAdapter(Listener), item)) for index, item in items)
    return Parts(
        clusters=len(clusters) if isinstance(clusters, tuple) else 0,
        ranges=None if node_ids is None else NodeIdRanges.parse(node_ids),
        namespaces=_valid(_NAMESPACES, values.get("namespaces", ())),
        listeners={index: listener for index, listener in read if listener is not None},
        metrics=_valid(TypeAdapter(MetricsSettings), values.get("metrics", {})),
        audit=_valid(TypeAdapter(AuditSettings), values.get("audit", {})),
        traffic_log=_valid(TypeAdapter(TrafficLogSettings), values.get("traffic_log", {})),
        catalog=_valid(TypeAdapter(CatalogSettings), values.get("catalog", {})),
        authorizes=values.get("authorization") is not None,
        security=_valid(TypeAdapter(ClusterSecurity), cluster.get("security", {})),
    )


def _valid(kind: TypeAdapter[_Value], value: object) -> _Value | None:
    try:
        return kind.validate_python(value)
    except ValidationError:
        return None
