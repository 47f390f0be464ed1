"""Reads a configuration file: its keys (gateway/config), lines, and the rules between keys."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import TypeAdapter, ValidationError

from gateway.config.errors import ConfigError, Problem
from gateway.config.model_problems import problems_of
from gateway.config.models import (
    MAX_CLUSTERS,
    MAX_LISTENERS,
    CatalogSettings,
    Config,
    Listener,
    LogSettings,
    MetricsSettings,
    TrafficLogSettings,
    Trust,
)
from gateway.config.security import AuditSettings, ClusterSecurity
from gateway.config.tree import TreeSettings
from gateway.config.values import Mount, Name, Namespace, NodeIds, TreeNumber
from gateway.config.yaml_nodes import UnreadableError
from gateway.config_file.parts import ClusterParts, Parts
from gateway.config_file.rules import cross_problems
from gateway.config_file.yaml_lines import Document, read_document
from gateway.files import Reader, read_input
from gateway.node_ids import NodeIdRanges

_Value = TypeVar("_Value")

_NAMESPACES: TypeAdapter[tuple[str, ...]] = TypeAdapter(tuple[Namespace, ...])
_NODE_IDS: TypeAdapter[tuple[str, ...]] = TypeAdapter(NodeIds)
_NAME: TypeAdapter[str] = TypeAdapter(Name)
_MOUNT: TypeAdapter[str] = TypeAdapter(Mount)
_NUMBER: TypeAdapter[int] = TypeAdapter(TreeNumber)
_TRUST: TypeAdapter[Trust] = TypeAdapter(Trust)
_CATALOG: TypeAdapter[CatalogSettings] = TypeAdapter(CatalogSettings)
_SECURITY: TypeAdapter[ClusterSecurity] = TypeAdapter(ClusterSecurity)
_LOG: TypeAdapter[LogSettings] = TypeAdapter(LogSettings)
_TREE: TypeAdapter[TreeSettings] = TypeAdapter(TreeSettings)


class ConfigFile(NamedTuple):
    """A configuration's file after it was read: it is read only once, because it may be a pipe."""

    path: Path
    config: Config
    document: Document

    def error(self, problems: Sequence[Problem]) -> ConfigError:
        """The error for problems that were found after reading, with the lines of their keys."""
        return ConfigError(self.path, [_placed(problem, self.document) for problem in problems])


def load_config(path: Path, read: Reader = read_input) -> Config:
    """Read and check a file, as :func:`load_file`, and return its configuration."""
    return load_file(path, read).config


def load_file(path: Path, read: Reader = read_input) -> ConfigFile:
    """Read and check a file.

    Raises :class:`ConfigError` with every problem found, a line each:
    ``FILE:LINE: key.path: what is wrong; what to do``.
    """
    try:
        document = read_document(path, read)
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
        placed = [_placed(problem, document) for problem in problems]
        logs = _valid(_LOG, document.value.get("log", {})) or LogSettings()
        raise ConfigError(path, placed, log_format=logs.format)
    return ConfigFile(path, config, document)


def _placed(problem: Problem, document: Document) -> Problem:
    """The problem with the line of its key, or of the innermost key around it that the file has."""
    return problem if problem.line else problem._replace(line=document.line_of(problem.key))


def _parts(values: dict[str, Any]) -> Parts:
    """The valid parts of a file. If a part has a mistake, the mistakes in other parts are still
    found."""
    listeners = _items(values.get("listeners"))[:MAX_LISTENERS]
    clusters = _items(values.get("clusters"))[:MAX_CLUSTERS]
    read = ((index, _valid(TypeAdapter(Listener), item)) for index, item in enumerate(listeners))
    return Parts(
        clusters=dict(enumerate(map(_cluster, clusters))),
        namespaces=_valid(_NAMESPACES, values.get("namespaces", ())),
        listeners={index: listener for index, listener in read if listener is not None},
        metrics=_valid(TypeAdapter(MetricsSettings), values.get("metrics", {})),
        audit=_valid(TypeAdapter(AuditSettings), values.get("audit", {})),
        traffic_log=_valid(TypeAdapter(TrafficLogSettings), values.get("traffic_log", {})),
        catalog=_valid(_CATALOG, values.get("catalog", {})),
        authorizes=values.get("authorization") is not None,
        written=_written(values),
        listeners_written=len(listeners),
        tree=_valid(_TREE, values.get("tree")),
        has_peers=values.get("tree") is not None,
    )


def _cluster(value: object) -> ClusterParts:
    if not isinstance(value, dict):
        return ClusterParts()
    node_ids = _valid(_NODE_IDS, value.get("node_ids"))
    trust = ((place, _valid(_TRUST, one)) for place, one in enumerate(_items(value.get("trust"))))
    return ClusterParts(
        name=_valid(_NAME, value.get("name")),
        ranges=None if node_ids is None else NodeIdRanges.parse(node_ids),
        security=_valid(_SECURITY, value.get("security", {})),
        mount=_valid(_MOUNT, value.get("mount")),
        number=_valid(_NUMBER, value.get("number")),
        catalog=_valid(_CATALOG, value.get("catalog")),
        namespaces=_valid(_NAMESPACES, value.get("namespaces")),
        trust={place: one for place, one in trust if one is not None},
        written=_written(value),
    )


def _written(values: dict[str, Any]) -> frozenset[str]:
    """The keys that have a value; a null value counts as no value."""
    return frozenset(key for key, value in values.items() if value is not None)


def _items(value: object) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else ()


def _valid(kind: TypeAdapter[_Value], value: object) -> _Value | None:
    try:
        return kind.validate_python(value)
    except ValidationError:
        return None
