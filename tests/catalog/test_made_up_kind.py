"""A new kind needs only a dataclass and a row in the table: everything else follows from these."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from gateway.audit.catalog_changes import changes_of
from gateway.catalog.entities import Entity, Namespace, Removal, key_of
from gateway.catalog.log.records import decode, encode
from gateway.catalog.log.replay import Replay
from gateway.catalog.log.signatures import Place
from gateway.catalog.schema.field_types import DIGITS, NAMESPACE, NUMBER, TEXT, TEXTS, TIME
from gateway.catalog.schema.kinds import Kind, Section
from gateway.catalog.schema.shapes import Field
from gateway.catalog.schema.table import KINDS
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.source import GATEWAY, committed
from gateway.commands.catalog.diff import (
    differences,
    differences_json,
    differences_text,
    problems,
    stale,
)
from gateway.commands.catalog.file import export_text, read_export, read_secrets, secrets_text
from gateway.commands.catalog.importing import commit
from gateway.config.errors import ConfigError
from tests.commands.fake_backend import FakeCatalog


@dataclass(frozen=True, slots=True)
class Quota(Entity):
    """The bytes that a principal may send to a namespace."""

    KIND = "quota"
    KEY = ("principal", "namespace")

    principal: str
    namespace: str
    bytes_per_second: int
    clients: tuple[str, ...] = ()
    since: int = 0


FIELDS = [
    Field("principal", TEXT),
    Field("namespace", NAMESPACE),
    Field("bytes_per_second", NUMBER),
    Field("clients", TEXTS),
    Field("since", TIME, note=True),
]
ALICE = Quota("User:alice", "org", 5_000, ("app-1", "app-2"), 1_700_000_000_000)
LESS = replace(ALICE, bytes_per_second=10, clients=(), since=0)
NOW = 2_000_000_000_000
ORG = Namespace("org")


@pytest.fixture(autouse=True)
def quotas(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = Kind(Quota, FIELDS, section=Section("quotas", "list"), title="quota of {0} in {1}")
    monkeypatch.setitem(KINDS, Quota.KIND, kind)


def test_it_is_stored_and_replayed() -> None:
    place = Place(1, 2, "a", "")
    record = encode(ALICE, place)
    assert record.key == b"quota/User:alice/org"
    assert record.value == (
        b'{"bytes_per_second":5000,"clients":["app-1","app-2"],"since":1700000000000}'
    )
    assert decode(record) == (ALICE, place)
    replay = Replay()
    replay.take([record, encode(ORG, Place(2, 2, "a", ""))])
    replay.reach_end()
    assert replay.snapshot.entity(key_of(ALICE)) == ALICE
    assert list(replay.snapshot.of_kind("quota").values()) == [ALICE]
    assert replay.snapshot.size == 2
    assert Snapshot().apply(replay.snapshot.entities(), 2) == replay.snapshot
    assert replay.snapshot.apply([Removal(key_of(ALICE)), Removal(key_of(ORG))], 0) == Snapshot()


async def test_it_is_exported_and_imported(tmp_path: Path) -> None:
    snapshot = Snapshot().apply([ORG, ALICE], 1)
    text = export_text(snapshot)
    assert text.partition("topics: []\n")[2] == (
        "quotas:\n"
        "- principal: User:alice\n"
        "  namespace: org\n"
        "  bytes_per_second: 5000\n"
        "  clients:\n"
        "  - app-1\n"
        "  - app-2\n"
        "  since: '2023-11-14T22:13:20.000Z'\n"
    )
    path = tmp_path / "catalog.yaml"
    path.write_text(text)
    imported = read_export(path)
    found = differences(Snapshot(), imported.entities, prune=False, now=1)
    assert problems(Snapshot(), imported, found, NOW) == []
    assert (await commit(FakeCatalog(Snapshot()), found)).held == snapshot.held
    assert stale(Snapshot(), found) == []


def test_its_mistakes_are_told(tmp_path: Path) -> None:
    path = tmp_path / "catalog.yaml"
    text = export_text(Snapshot().apply([ALICE], 1))
    path.write_text(text.replace("5000", "many"))
    with pytest.raises(ConfigError, match=r"\d: quotas\[0\]\.bytes_per_second: must be a whole"):
        read_export(path)
    path.write_text(text)
    imported = read_export(path)
    found = differences(Snapshot(), imported.entities, prune=False, now=1)
    (problem,) = problems(Snapshot(), imported, found, NOW)
    assert problem.text == "namespace 'org' does not exist; add it"


def test_its_differences_are_shown() -> None:
    before = Snapshot().apply([ORG, ALICE], 1)
    assert differences(before, [replace(ALICE, since=7)], prune=False, now=1) == []
    found = differences(before, [LESS], prune=False, now=1)
    assert differences_text(found) == (
        "~ quota of User:alice in org\n"
        "    bytes_per_second: 5000 -> 10\n"
        "    clients: app-1, app-2 -> (none)\n"
        "0 added, 1 changed, 0 removed."
    )
    (one,) = differences_json(found)
    assert (one["kind"], one["key"]) == ("quota", "User:alice/org")
    assert one["after"] == {"principal": "User:alice", "namespace": "org", "bytes_per_second": 10}


def test_it_is_audited() -> None:
    before = Snapshot().apply([ORG, ALICE], 1)
    (change,) = committed(GATEWAY, before, [LESS])
    (event,) = changes_of(change)
    assert (event.kind, event.resource, event.action) == ("quota", "User:alice/org", "altered")
    assert event.before == {
        "bytes_per_second": 5_000,
        "clients": ["app-1", "app-2"],
        "since": 1_700_000_000_000,
    }
    assert event.after == {"bytes_per_second": 10, "clients": [], "since": 0}


def test_what_is_secret_stays_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    @dataclass(frozen=True, slots=True)
    class Token(Entity):
        KIND = "token"
        KEY = ("name",)

        name: str
        uses: int
        hash: bytes

    fields = [Field("name", TEXT), Field("uses", NUMBER), Field("hash", DIGITS, secret=True)]
    monkeypatch.setitem(KINDS, "token", Kind(Token, fields, section=Section("tokens", "list")))
    token = Token("t", 3, b"\xab\xcd")
    snapshot = Snapshot().apply([token], 1)
    path = tmp_path / "secrets.yaml"
    path.write_text(secrets_text(snapshot))
    assert read_secrets(path) == [token]
    kinds = [KINDS["token"]]
    found = differences(Snapshot(), [token], prune=False, now=1, kinds=kinds)
    (change,) = committed(GATEWAY, Snapshot(), [token])
    everything = [
        export_text(snapshot),
        differences_text(found),
        str(differences_json(found)),
        str(*changes_of(change)),
    ]
    assert "abcd" in path.read_text()
    assert not any("abcd" in text for text in everything)
