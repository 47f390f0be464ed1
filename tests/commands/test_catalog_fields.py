"""An import takes of each field of each kind what a request can make, and nothing else.

For every field of every kind that a file holds, values that the field's request rejects (limits,
names and times of Kafka's and of docs/names.md) are rejected with the file, the line and the kind.
Catalogs that requests have made are exported and imported without a word.
"""

from __future__ import annotations

import copy
import re
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from gateway.acl_model import AclEntry
from gateway.catalog.entities import Alias, CatalogFormat, Link, TopicEntry
from gateway.catalog.log.records import FORMAT
from gateway.catalog.schema.shapes import Records
from gateway.catalog.schema.table import KINDS
from gateway.catalog.schema.yaml_values import write
from gateway.catalog.snapshot import Snapshot
from gateway.commands.catalog.file import export_text, secrets_text
from gateway.commands.catalog.importing import import_file
from gateway.config.errors import ConfigError
from gateway.config.models import Config
from gateway.names import LogicalName
from tests.apis.security.test_scram_messages import SHA_512, after, asked, upsertion
from tests.changes import acl_requests, admin_requests, config_requests
from tests.changes.config_requests import SET, moving
from tests.changes.configs.test_client_metrics import altered
from tests.changes.fakes import World
from tests.changes.rights.generation import random_plan
from tests.changes.rights.search import MOST_STEPS, make
from tests.changes.rights.steps import random_step, take
from tests.commands.fake_backend import FakeBackend
from tests.config import config_samples
from tests.examples import examples

ID = "00000000-0000-4000-8000-{:012d}"
CONTENT: Final[dict[str, Any]] = {
    "format": 1,
    "catalog_format": FORMAT,
    "seeded": ["org"],
    "namespaces": {"org": {"configs": {"retention.ms": "1"}}, "team-b": {}},
    "topics": [
        {
            "name": "org:sales",
            "flat": "org..orders",
            "topic_id": ID.format(2),
            "aliases": [{"name": "org:old", "until": "2026-12-01", "topic_id": ID.format(3)}],
        },
        {
            "name": "org:other",
            "flat": "other",
            "topic_id": ID.format(4),
            "aliases": [{"name": "org:former", "until": "2026-12-01"}],
        },
    ],
    "links": [{"name": "team-b:sales", "flat": "org..orders", "topic_id": ID.format(5)}],
    "acls": [
        {
            "type": "TOPIC",
            "pattern": "LITERAL",
            "name": "org:sales",
            "entries": [{"permission": "ALLOW", "operation": "READ", "principal": "User:a"}],
        }
    ],
    "homes": {"User:a": "org"},
    "client_metrics": {"org:lag": {"metrics": "*"}},
    "scram": [
        {
            "user": "a",
            "mechanism": "SCRAM-SHA-256",
            "iterations": 4096,
            "salt": "01" * 12,
            "stored_key": "02" * 32,
            "server_key": "03" * 32,
        }
    ],
}

NAN = float("nan")
LONG = "x" * 32_768
TIMES: Final = (-1, 10**15, 10**30, 1.5, NAN, float("inf"), True, "", "soon", "1969-12-31")
NOTED: Final = (*TIMES, 10**15 - 1, "9999-12-31")
"""A gateway notes the time that it is."""
NUMBERS: Final = (-1, 2**31, 10**30, 1.5, NAN, True, "1")
PATHS: Final = ("o_g", "", ":a", "a:", "a::b", "o g", "ä", "n" * 247, "a:" + "n" * 245)
TOPICS: Final = (
    *("", "org:", "org:a b", "o_g:x", "org:.", "org:..", "org:ä", "org:" + "t" * 245, "t" * 250),
    *("org:__consumer_offsets", "__transaction_state", "org:__kafka_gateway_x"),
    *("org..x", "org__x"),  # spellings of a name in the namespace, and equal to one in Kafka
    *("org:other", "org:former"),
    "plain",  # a topic of the cluster
)
FLATS: Final = ("", "a b", "a:b", "t" * 250, ".", "__consumer_offsets", "__kafka_gateway_x")
IDS: Final = (ID.format(0).replace("4", "0").replace("8", "0"), ID.format(4), "x", "", 5)
KEYS: Final = (["gateway.link"], [""], ["a", "a"], [LONG], "a", [1])

WRONG: Final[dict[tuple[str, str], tuple[Any, ...]]] = {
    ("seeded", "namespaces"): ("org", *([path] for path in PATHS), {"org": None}, [1]),
    ("namespaces", "path"): (*PATHS, "a:b"),
    ("namespaces", "configs"): (
        *({key: "true"} for key in ("gateway.namespace", "gateway.adopt", "gateway.x")),
        {"gateway.num.partitions": "3"},
        *({"retention.ms": value} for value in ("soon", LONG, None, 5, ["1"])),
        {LONG: "1"},
    ),
    ("namespaces", "settings"): (
        *({"gateway.num.partitions": value} for value in ("0", "-1", "+3", "10001", "many", 3)),
        {"gateway.auto.create.topics.enable": "yes"},
        *({key: "true"} for key in ("gateway.principals", "gateway.adopt", "retention.ms")),
    ),
    ("namespaces", "deleting"): NOTED,
    ("namespaces", "apply"): KEYS,
    ("namespaces", "apply_since"): NOTED,
    ("topics", "name"): (*TOPICS, "nowhere:x", "org:old", "team-b:sales"),
    ("topics", "flat"): FLATS,
    ("topics", "topic_id"): (*IDS, ID.format(3), ID.format(5)),
    ("topics", "own_configs"): KEYS,
    ("topics", "aliases"): ([{}], [1], "org:old"),
    ("topics", "aliases.name"): (*TOPICS, "org:sales", "team-b:sales"),
    ("topics", "aliases.until"): TIMES,
    ("topics", "aliases.topic_id"): (*IDS, ID.format(2), ID.format(5)),
    ("topics", "apply"): ("yes", 1, None),
    ("topics", "creating"): ("true", 0, None),
    ("topics", "since"): NOTED,
    ("topics", "counted"): NUMBERS,
    ("links", "name"): (*TOPICS, "nowhere:x", "org:sales", "org:old"),
    ("links", "flat"): (*FLATS, "nowhere"),
    ("links", "topic_id"): (*IDS, ID.format(2), ID.format(3), None),
    ("links", "gone"): ("org:", "o_g:x", "org:a b", "org:" + "t" * 245, 5),
    ("acls", "type"): ("ANY", "UNKNOWN", "CLUSTER", "topic", 2),
    ("acls", "pattern"): ("ANY", "MATCH", "UNKNOWN", 3),
    ("acls", "name"): ("", LONG, "x" * 2_001, "org:*", ":", ":x", "o_g:x", "a::b", 5),
    ("acls", "entries"): ([], [{}], "READ"),
    ("acls", "entries.principal"): ("", "alice", "User:" + LONG, 5),
    ("acls", "entries.host"): ("", LONG, 5),
    ("acls", "entries.operation"): ("ANY", "UNKNOWN", "EAT", 3),
    ("acls", "entries.permission"): ("ANY", "UNKNOWN", True),
    ("homes", "principal"): (
        *("", "alice", "User:", " User:a", "User:a,User:b", "User:a,b", "[User:a]"),
        "User:" + "x" * 1_024,
    ),
    ("homes", "namespace"): (*PATHS, "nowhere", 5),
    ("client_metrics", "name"): ("", "org:", ":a", "o_g:a", "nowhere:a"),
    ("client_metrics", "configs"): (
        *({}, {"other": "x"}, {"metrics": "a,,b"}, {"metrics": LONG}, {"metrics": ["a"]}),
        *({"interval.ms": value} for value in ("99", "3600001", "x", "1.5", "NaN", 1000)),
        *({"match": value} for value in ("client_id", "client_id=(", "other=x")),
    ),
    ("scram", "user"): ("", "u" * 1_025, 5),
    ("scram", "mechanism"): ("SCRAM-SHA-1", "", 1),
    ("scram", "iterations"): (*NUMBERS, 0, 4_095, 16_385),
    ("scram", "salt"): ("", "zz", "01" * 11, "01" * 1_025, 5),
    ("scram", "stored_key"): ("", "02" * 31, "02" * 64, "x"),
    ("scram", "server_key"): ("", "03" * 31, "03" * 64, "x"),
}
"""By section and field, values that no request could have made."""

NESTED: Final = {"aliases": Alias, "entries": AclEntry}


def test_every_field_of_every_kind_is_tried() -> None:
    expected = set()
    for kind in KINDS.values():
        for field in kind.fields if kind.section is not None else ():
            assert kind.section is not None
            names = [*field.type.file_names(field.name)]
            if isinstance(field.type, Records):
                names += [f"{field.name}.{one.name}" for one in fields(NESTED[field.name])]
            expected |= {(kind.section.name, name) for name in names}
    assert WRONG.keys() == expected


@pytest.mark.parametrize(("section", "field"), WRONG)
async def test_values_that_no_request_could_have_made(
    section: str, field: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = re.compile(
        rf"^{tmp_path}/(catalog|secrets)\.yaml:[1-9][0-9]*: (secrets\.)?{section}\b", re.M
    )
    for value in WRONG[section, field]:
        told = await imported(tmp_path, monkeypatch, changed(section, field, value))
        assert place.search(told), f"{field} = {str(value)[:80]!r}: {told[:400]}"


async def test_the_same_file_with_none_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await imported(tmp_path, monkeypatch, CONTENT) == ""


@pytest.mark.parametrize("level", [-1, 0, 1.5, NAN, "1", 10**30])
async def test_formats_that_no_catalog_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, level: object
) -> None:
    told = await imported(tmp_path, monkeypatch, {**CONTENT, "catalog_format": level})
    assert told.startswith(f"{tmp_path}/catalog.yaml:2: catalog_format: ")


async def test_names_that_the_catalog_holds_already(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What takes a name need not be in the file."""
    alias = Alias(LogicalName("", "new..x"), 2**40)
    held = TopicEntry("t", LogicalName("org", "t"), bytes([1] * 16), (alias,))
    link = Link(LogicalName("org", "l"), "t", bytes([2] * 16))
    before = Snapshot.of(["org"]).apply([CatalogFormat(FORMAT), held, link], 2)
    head = {"format": 1, "catalog_format": 1}
    for content, told in (
        ({"topics": [{"name": "org:l", "flat": "u"}]}, "topics[0]: 'org:l' is a link; "),
        ({"topics": [{"name": "new..x", "flat": "u"}]}, "'new..x' is an alias of the topic stored"),
        ({"namespaces": {"new": {}}}, "namespaces.new: would take over the name 'new..x' of a"),
    ):
        assert told in await imported(tmp_path, monkeypatch, head | content, before)


async def test_what_random_requests_make_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds: set[str] = set()
    for seed in range(examples(60)):
        rng = Random(seed)
        world = await make(random_plan(rng))
        for _ in range(MOST_STEPS):
            await take(world, random_step(rng, world))
        made = world.world.snapshot
        kinds |= {kind for kind, held in made.held.items() if held}
        text = export_text(made)
        told = await imported(tmp_path, monkeypatch, text, flats=world.world.broker.topics)
        assert not told, f"seed {seed}:\n{text}\n{told}"
    assert kinds >= {"namespace", "topic", "link", "acl"}


async def test_what_requests_make_of_every_kind_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(["org", "team-b"])
    world.log.append([CatalogFormat(FORMAT)])
    world.broker.make("org..a", "plain")
    gateway = world.gateway()
    access = acl_requests.access(gateway)
    configs: dict[str, str | None] = {"retention.ms": "5", "gateway.num.partitions": "0007"}
    told = await admin_requests.create(gateway, "org:" + "n" * 240 + ":", configs=configs)
    assert admin_requests.codes(told) == [0]
    for name, changes in (
        ("org:", [("gateway.principals", SET, "User:a,User:CN=x,O=y,CERT:é")]),
        ("org:", [("gateway.auto.create.topics.enable", SET, " TRUE ")]),
        ("plain", moving("team-b", "p", "999999999999999")),
        ("org:a", [("gateway.link", SET, "team-b:a,a")]),
    ):
        assert await config_requests.alter(gateway, name, changes) == (0, None)
    grants = ["ALLOW READ User: TOPIC:PREFIXED:org:", "DENY ALL :@h GROUP:LITERAL::\0 x"]
    grants += ["ALLOW ALTER User:* CLUSTER:LITERAL:kafka-cluster"]
    assert await acl_requests.create(gateway, access, *grants) == [(0, None)] * 3
    metrics = {"org:\0 é": {"interval.ms": " 100 ", "match": "client_id=.*"}, "m": {"metrics": ""}}
    assert await altered(gateway, metrics) == [(0, None)] * 2
    users = [upsertion("ü/\0", iterations=16_384), upsertion("b", SHA_512, salt=b"s" * 12)]
    made = after(world.snapshot, asked(*users))
    content = export_text(made), secrets_text(made)
    assert await imported(tmp_path, monkeypatch, *content, flats=world.broker.topics) == ""


def changed(section: str, field: str, value: Any) -> dict[str, Any]:
    """The content of a file with another value of one field."""
    content = copy.deepcopy(CONTENT)
    held, (kind, *_) = content[section], _kinds_of(section)
    outer, _, inner = field.partition(".")
    match kind.section and kind.section.form:
        case "list":
            item = held[0][outer][0] if inner else held[0]
            item[inner or outer] = value
        case "value":
            content[section] = value
        case form:
            key = next(iter(held))
            if field in kind.entity.KEY:
                held[value] = held.pop(key)
            elif form == "value by key":
                held[key] = value
            else:
                held[key][field] = value
    return content


def _kinds_of(section: str) -> Iterator[Any]:
    return (kind for kind in KINDS.values() if kind.section and kind.section.name == section)


async def imported(
    directory: Path,
    monkeypatch: pytest.MonkeyPatch,
    content: dict[str, Any] | str,
    before: Snapshot | str | None = None,
    flats: Any = ("org..orders", "other", "plain"),
) -> str:
    """Import content, or the texts of an export and of its secrets, into a catalog that is empty,
    or that was so ``before``; returns the problems that an operator is told."""
    secrets = before if isinstance(before, str) else ""
    catalog = before if isinstance(before, Snapshot) else Snapshot()
    catalog = catalog.apply([CatalogFormat(FORMAT)], 2)
    FakeBackend(catalog, {flat: {} for flat in flats}).take_place(monkeypatch)
    if not isinstance(content, str):
        main = dict(content)
        secrets = write({"format": 1, "secrets": {"scram": main.pop("scram", [])}})
        content = write(main)
    (directory / "catalog.yaml").write_text(content)
    (directory / "secrets.yaml").write_text(secrets or secrets_text(Snapshot()))
    files = {"input": directory / "catalog.yaml", "secrets_from": directory / "secrets.yaml"}
    options = {"yes": True, "dry_run": True, "json": True, "adopt_existing": True, **files}
    absent = dict.fromkeys(("under", "policies_to", "force", "no_acls", "prune"))
    try:
        await import_file(_config(directory), Namespace(**absent, **options))
    except ConfigError as error:
        return str(error)
    return ""


@cache
def _config(directory: Path) -> Config:
    return config_samples.config(directory)
