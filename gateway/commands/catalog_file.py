"""The catalog as a YAML file for people: what ``catalog export`` writes and ``import`` reads.

Namespaces by path, topics by logical name, ACLs by pattern and homes by principal, sorted, so
that two exports can be compared. Secrets have a file of their own. The format has a number: a
file of a newer one is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from gateway.acl_model import ResourceAcls
from gateway.catalog.entities import (
    CatalogFormat,
    Entity,
    Key,
    Namespace,
    PrincipalHome,
    ScramCredential,
    Seeds,
    TopicEntry,
    key_of,
)
from gateway.catalog.snapshot import Snapshot
from gateway.commands.catalog_access_fields import (
    acl_fields,
    read_acls,
    read_credential,
    secret_fields,
)
from gateway.commands.catalog_fields import (
    namespace_fields,
    read_namespace,
    read_topic,
    topic_fields,
)
from gateway.commands.yaml_values import BadValue, Value, read_file, required, write
from gateway.config.errors import ConfigError, Problem
from gateway.config.errors import Key as Place
from gateway.names import (
    MAX_FLAT_LENGTH,
    InvalidName,
    check_namespace,
    check_topic,
    encode,
    is_reserved,
)

FORMAT: Final = 1
"""The format of the files that this software writes, and the newest that it reads."""

Exported = Namespace | TopicEntry | Seeds | ResourceAcls | PrincipalHome | ScramCredential
"""What is written, to either file."""

_Name = TypeVar("_Name")

_HEADING = """\
# The catalog of kafka-gateway: its namespaces, the topics whose stored name does not say
# everything, ACLs, and the home namespaces of principals. `kafka-gateway catalog import` reads it.
"""
_LISTS: Final = ("namespaces", "topics", "acls", "homes")
_SECRETS_HEADING = """\
# The secrets of a catalog of kafka-gateway: keep this file to yourself.
"""


@dataclass(slots=True)
class Imported:
    """What a file says: ``entities``, the place of each in it, and the ``catalog_format`` of the
    catalog that it was exported from."""

    path: Path
    catalog_format: int
    entities: list[Entity] = field(default_factory=list)
    places: dict[Key, tuple[Place, int]] = field(default_factory=dict)
    configs: dict[tuple[str, str], tuple[Place, int]] = field(default_factory=dict)
    """Of namespaces: the place of each config, by path and key."""

    def problem(self, key: Key, text: str, config: str = "") -> Problem:
        """A problem of an entity, or of one of a namespace's configs, at its place if it is in
        the file."""
        place, line = self.places.get(key, ((), 0))
        place, line = self.configs.get((key[1], config), (place, line))
        return Problem(place, text, line)


def export_text(snapshot: Snapshot) -> str:
    """The main file: everything but secrets and what only running gateways know."""
    topics = sorted(snapshot.topics.values(), key=lambda entry: (entry.name, entry.flat))
    content: dict[str, Any] = {"format": FORMAT, "catalog_format": snapshot.format}
    if snapshot.seeded:
        content["seeded"] = sorted(snapshot.seeded)
    content["namespaces"] = {
        path: namespace_fields(snapshot.namespaces[path]) for path in sorted(snapshot.namespaces)
    }
    content["topics"] = [topic_fields(entry) for entry in topics]
    if snapshot.acls:
        by_name = {str(pattern): acls for pattern, acls in snapshot.acls.items()}
        content["acls"] = [acl_fields(by_name[name]) for name in sorted(by_name)]
    if snapshot.homes:
        content["homes"] = dict(sorted(snapshot.homes.items()))
    return _HEADING + write(content)


def secrets_text(snapshot: Snapshot) -> str:
    """The secrets' file (catalog_fields.SECRET_KINDS)."""
    scram = [secret_fields(snapshot.scram[key]) for key in sorted(snapshot.scram)]
    secrets = {"scram": scram} if scram else {}
    return _SECRETS_HEADING + write({"format": FORMAT, "secrets": secrets})


def read_export(path: Path) -> Imported:
    """Reads a main file. Raises ConfigError with every problem of its entities."""
    try:
        root = read_file(path)
        fields = _of_known_format(root, "catalog_format", "seeded", *_LISTS)
        level = required(root, fields, "catalog_format")
        imported = Imported(path, level.number())
    except BadValue as error:
        raise ConfigError(path, [error.problem]) from None
    imported.places[key_of(CatalogFormat(imported.catalog_format))] = level.key, level.line
    reader = _Reader(imported)
    if "seeded" in fields:
        reader.take(reader.seeds, fields["seeded"])
    for name in _LISTS:
        if name in fields:
            reader.take(getattr(reader, name), fields[name])
    if reader.problems:
        raise ConfigError(path, reader.problems)
    return imported


def read_secrets(path: Path) -> list[ScramCredential]:
    """Reads a secrets' file. Raises ConfigError with every problem, and with no secret."""
    reader = _Reader(Imported(path, FORMAT))
    try:
        fields = _of_known_format(read_file(path), "secrets")
        secrets = fields["secrets"].fields("scram") if "secrets" in fields else {}
        if "scram" in secrets:
            reader.scram(secrets["scram"])
    except BadValue as error:
        raise ConfigError(path, [error.problem]) from None
    if reader.problems:
        raise ConfigError(path, reader.problems)
    return reader.credentials


def write_secrets(path: Path, text: str) -> None:
    """Writes a file that nobody but its owner can read. Raises OSError."""
    path.touch(mode=0o600)
    path.chmod(0o600)  # where it was there already
    path.write_text(text)


class _Reader:
    """Reads entity after entity, so that one run tells of all that is wrong."""

    def __init__(self, imported: Imported) -> None:
        self.problems: list[Problem] = []
        self.credentials: list[ScramCredential] = []
        self._imported = imported

    def take(self, read: Callable[[Value], None], value: Value) -> None:
        try:
            read(value)
        except BadValue as error:
            self.problems.append(error.problem)

    def seeds(self, value: Value) -> None:
        self._add(Seeds(frozenset(item.text() for item in value.items())), value)

    def namespaces(self, value: Value) -> None:
        for path, one in value.entries():
            self.take(partial(self._namespace, path), one)

    def topics(self, value: Value) -> None:
        for one in value.items():
            self.take(self._topic, one)

    def acls(self, value: Value) -> None:
        for one in value.items():
            self.take(lambda each: self._add_new(read_acls(each), each), one)

    def homes(self, value: Value) -> None:
        for principal, one in value.entries():
            self.take(partial(self._home, principal), one)

    def scram(self, value: Value) -> None:
        for one in value.items():
            self.take(self._credential, one)

    def _namespace(self, path: str, value: Value) -> None:
        _checked(value, check_namespace, path)
        self._add(read_namespace(path, value), value)
        configs = dict(value.entries()).get("configs")
        for key, one in () if configs is None else configs.entries():
            self._imported.configs[path, key] = one.key, one.line

    def _topic(self, value: Value) -> None:
        entry = read_topic(value)
        for name in entry.names:
            _checked(value, encode, name)
        _checked(value, _check_flat, entry.flat)
        self._add_new(entry, value)

    def _home(self, principal: str, value: Value) -> None:
        _checked(value, check_namespace, value.text())
        self._add(PrincipalHome(principal, value.text()), value)

    def _credential(self, value: Value) -> None:
        credential = read_credential(value)
        self._add_new(credential, value)
        self.credentials.append(credential)

    def _add_new(self, entity: Entity, value: Value) -> None:
        """An item of a list, where nothing else keeps one from being there twice."""
        key = key_of(entity)
        if key in self._imported.places:
            line = self._imported.places[key][1]
            value.refuse(f"'{key[1]}' is there already, on line {line}; keep one of the two")
        self._add(entity, value)

    def _add(self, entity: Entity, value: Value) -> None:
        self._imported.entities.append(entity)
        self._imported.places[key_of(entity)] = value.key, value.line


def _of_known_format(root: Value, *known: str) -> dict[str, Value]:
    """The keys of a file, its format checked before anything else of it is."""
    everything = dict(root.entries())
    found = required(root, everything, "format")
    if not 1 <= found.number() <= FORMAT:
        found.refuse(f"is {found.number()}, and this software reads {FORMAT}; use a newer one")
    return root.fields("format", *known)


def _checked(value: Value, check: Callable[[_Name], object], name: _Name) -> None:
    try:
        check(name)
    except InvalidName as error:
        value.refuse(f"{error}; correct it")


def _check_flat(flat: str) -> None:
    check_topic(flat)
    if len(flat) > MAX_FLAT_LENGTH or is_reserved(flat):
        raise InvalidName(f"'{flat}' is no name that a topic can be stored by")


def exported(entities: Iterable[Entity], kinds: Container[str]) -> dict[Key, Exported]:
    """Of the catalog's entities, by key, those of these kinds that the files hold."""
    return {
        key_of(entity): entity
        for entity in entities
        if isinstance(entity, Exported) and key_of(entity)[0] in kinds
    }
