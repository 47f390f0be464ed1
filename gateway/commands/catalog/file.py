"""The catalog as a YAML file for people, which ``catalog export`` writes and ``import`` reads.

Namespaces are sorted by path, topics by logical name, ACLs by pattern and homes by principal, so
that two exports can be compared. Secrets have a file of their own. The format has a number: if a
file's number is newer than this software's, the file is rejected.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from gateway.catalog.entities import (
    CatalogFormat,
    Entity,
    Key,
    Namespace,
    ResourceAcls,
    key_of,
)
from gateway.catalog.schema.field_types import CONFIGS
from gateway.catalog.schema.kinds import Kind
from gateway.catalog.schema.table import KINDS, kind_of
from gateway.catalog.schema.yaml_values import BadValue, Value, read_file, required, write
from gateway.catalog.snapshot import Snapshot
from gateway.config.errors import ConfigError, Problem
from gateway.config.errors import Key as Place
from gateway.names import InvalidName, check_namespace

FORMAT: Final = 1
"""The format of the files that this software writes, and the newest format that it reads."""

NAMESPACES: Final = "namespaces"
"""The value of ``only`` in a file that holds namespaces."""

_HEADING = """\
# The catalog of kafka-gateway: its namespaces, the topics whose stored name does not say
# everything, ACLs, and the home namespaces of principals. `kafka-gateway catalog import` reads it.
# `format` is this file's own; `catalog_format` is that of the catalog that it was written from.
"""
_NAMESPACES_HEADING = """\
# The namespaces of kafka-gateway's catalog, their ACLs and their policies.
# `kafka-gateway catalog import` reads it, with --under NAMESPACE below that namespace.
"""
_OF_NAMESPACES: Final = ("only", "below", "policies")
_SECRETS_HEADING = """\
# The secrets of a catalog of kafka-gateway: keep this file to yourself.
"""


@dataclass(slots=True)
class Imported:
    """The content of a file: ``entities``, the place of each in the file, and the
    ``catalog_format`` of the catalog that was exported."""

    path: Path
    catalog_format: int
    entities: list[Entity] = field(default_factory=list)
    places: dict[Key, tuple[Place, int]] = field(default_factory=dict)
    configs: dict[tuple[str, str], tuple[Place, int]] = field(default_factory=dict)
    """The place of each config of a namespace, by path and key."""
    only_namespaces: bool = False
    """True for a file of namespaces, which leaves the rest of a catalog out."""
    below: str = ""
    """In a file of namespaces: the only namespace that was exported; empty: all namespaces."""
    policies: dict[str, Any] = field(default_factory=dict)
    """In a file of namespaces: the block of ``policies.namespaces`` by path, not checked yet."""
    lines: dict[Place, int] = field(default_factory=dict)
    """The line of each key of the policies."""

    def problem(self, key: Key, text: str, config: str = "") -> Problem:
        """A problem of an entity, or of a namespace's config, at its place if it is in the file."""
        place, line = self.places.get(key, ((), 0))
        place, line = self.configs.get((key[1], config), (place, line))
        return Problem(place, text, line)


def main_kinds() -> dict[str, Kind]:
    """The kinds that the main file holds, by section."""
    return _kinds(secret=False)


def secret_kinds() -> dict[str, Kind]:
    """The kinds that hold secrets, by section; they never stand in the main file."""
    return _kinds(secret=True)


def _kinds(*, secret: bool) -> dict[str, Kind]:
    kinds = (kind for kind in KINDS.values() if kind.is_secret is secret)
    return {kind.section.name: kind for kind in kinds if kind.section is not None}


def exported(entities: Iterable[Entity], kinds: Container[Kind] | None = None) -> dict[Key, Entity]:
    """The catalog's entities of these kinds, by key. By default, all kinds that the files hold."""
    wanted = {*main_kinds().values(), *secret_kinds().values()} if kinds is None else kinds
    return {key_of(entity): entity for entity in entities if kind_of(entity) in wanted}


def export_text(snapshot: Snapshot) -> str:
    """The text of the main file: everything but secrets and the state that only
    running gateways hold."""
    head = {"format": FORMAT, "catalog_format": snapshot.format}
    return _HEADING + write({**head, **_sections(snapshot, main_kinds())})


def namespaces_text(
    entities: Iterable[Entity], policies: Mapping[str, object], below: str = ""
) -> str:
    """The text of a file of namespaces: these namespaces and ACLs, and blocks
    of policies by path."""
    kinds, found = main_kinds(), [*entities]
    head = {"format": FORMAT, "catalog_format": 1, "only": NAMESPACES}
    content: dict[str, Any] = {**head, **({"below": below} if below else {})}
    for name, entity in (("namespaces", Namespace), ("acls", ResourceAcls)):
        content[name] = kinds[name].to_section([one for one in found if isinstance(one, entity)])
    if policies:
        content["policies"] = dict(policies)
    return _NAMESPACES_HEADING + write(content)


def secrets_text(snapshot: Snapshot) -> str:
    """The text of the secrets' file."""
    secrets = _sections(snapshot, secret_kinds())
    return _SECRETS_HEADING + write({"format": FORMAT, "secrets": secrets})


def _sections(snapshot: Snapshot, kinds: dict[str, Kind]) -> dict[str, Any]:
    found = {}
    for name, kind in kinds.items():
        assert kind.section is not None
        entities = snapshot.of_kind(kind.name).values()
        if entities or kind.section.always:
            found[name] = kind.to_section(entities)
    return found


def read_export(path: Path) -> Imported:
    """Read a main file. Raises ConfigError with every problem of its entities."""
    try:
        root = read_file(path)
        fields = _of_known_format(root, "catalog_format", *_OF_NAMESPACES, *main_kinds())
        level = required(root, fields, "catalog_format")
        imported = Imported(path, level.number())
        if not imported.catalog_format:
            level.reject("is 0, and the first is 1; correct it")
        _read_head_of_namespaces(imported, fields)
    except BadValue as error:
        raise ConfigError(path, [error.problem]) from None
    imported.places[key_of(CatalogFormat(imported.catalog_format))] = level.key, level.line
    _read_sections(imported, fields, main_kinds())
    return imported


def _read_head_of_namespaces(imported: Imported, fields: dict[str, Value]) -> None:
    """Read the keys that only a file of namespaces has. Raises BadValue."""
    if "only" not in fields:
        for name in _OF_NAMESPACES:
            if name in fields:
                fields[name].reject(f"is a key of files with 'only: {NAMESPACES}'; leave it out")
        return
    if fields["only"].text() != NAMESPACES:
        fields["only"].reject(f"is something that this software does not know; use {NAMESPACES}")
    for name in main_kinds().keys() & fields.keys() - {"namespaces", "acls"}:
        fields[name].reject(f"does not belong in a file of {NAMESPACES} only; leave it out")
    imported.only_namespaces = True
    if "below" in fields:
        imported.below = fields["below"].text()
        try:
            check_namespace(imported.below)
        except InvalidName as error:
            fields["below"].reject(f"{error}; correct it")
    if "policies" in fields:
        blocks = fields["policies"].entries()
        imported.policies = {path: block.content(imported.lines) for path, block in blocks}


def read_secrets(path: Path) -> list[Entity]:
    """Read a secrets' file. Raises ConfigError with every problem; its text holds no secret."""
    imported = Imported(path, FORMAT)
    try:
        fields = _of_known_format(read_file(path), "secrets")
        secrets = fields["secrets"].fields(*secret_kinds()) if "secrets" in fields else {}
    except BadValue as error:
        raise ConfigError(path, [error.problem]) from None
    _read_sections(imported, secrets, secret_kinds())
    return imported.entities


def _read_sections(imported: Imported, fields: dict[str, Value], kinds: dict[str, Kind]) -> None:
    """Read every entity, so that a single ConfigError reports every problem. Raises ConfigError."""
    problems: list[Problem] = []
    for name in (name for name in kinds if name in fields):
        try:
            for identity, value in kinds[name].items(fields[name]):
                try:
                    _read(imported, kinds[name], identity, value)
                except BadValue as error:
                    problems.append(error.problem)
        except BadValue as error:
            problems.append(error.problem)
    if problems:
        raise ConfigError(imported.path, problems)


def _read(imported: Imported, kind: Kind, identity: str, value: Value) -> None:
    entity = kind.of_file(identity, value)
    if kind.check is not None:
        try:
            kind.check(entity)
        except InvalidName as error:
            value.reject(f"{error}; correct it")
    key = key_of(entity)
    # If a list holds an item twice, only this check finds it.
    if key in imported.places:
        line = imported.places[key][1]
        value.reject(f"'{key[1]}' is there already, on line {line}; keep one of the two")
    imported.entities.append(entity)
    imported.places[key] = value.key, value.line
    named = {one.name for one in kind.fields if one.type is CONFIGS}
    for name, configs in value.entries() if named else ():
        if name in named:
            imported.configs |= {
                (key[1], config): (one.key, one.line) for config, one in configs.entries()
            }


def _of_known_format(root: Value, *known: str) -> dict[str, Value]:
    """The keys of a file. The format is checked first, because other formats
    may have other keys."""
    everything = dict(root.entries())
    found = required(root, everything, "format")
    if not 1 <= found.number() <= FORMAT:
        found.reject(f"is {found.number()}, and this software reads {FORMAT}; use a newer one")
    return root.fields("format", *known)
