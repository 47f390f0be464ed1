"""kafka-gateway catalog export --namespaces, and import of such a file, below a namespace."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from gateway.acl_model import AclEntry, Operation, Permission, pattern_of
from gateway.catalog.entities import Entity, Namespace, ResourceAcls
from gateway.catalog.snapshot import Snapshot
from gateway.commands.catalog.file import export_text
from gateway.config_file.loading import load_config
from tests.commands.catalog_samples import sample
from tests.commands.fake_backend import FakeBackend
from tests.commands.running import Said, command
from tests.config import config_samples

POLICIES = {
    "everywhere": {"partitions": {"max": 12}},
    "namespaces": {
        "org": {"mode": "warn", "retention.ms": {"max": 604_800_000}},
        "org:apache": {"configs": {"required": ["retention.ms"], "allowed": ["retention.ms"]}},
        "other": {"max_topics": 3},
    },
}
HEAD = "format: 1\ncatalog_format: 1\nonly: namespaces\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    config_samples.write(tmp_path, policies=POLICIES).rename("site-a.yaml")
    config_samples.write(tmp_path).rename("site-b.yaml")
    return tmp_path


def acls(pattern: str, who: str = "User:alice") -> ResourceAcls:
    entry = AclEntry(who, "*", Operation.READ, Permission.ALLOW)
    return ResourceAcls(pattern_of(pattern), frozenset({entry}))


def use(monkeypatch: pytest.MonkeyPatch, *entities: Entity) -> FakeBackend:
    backend = FakeBackend(Snapshot().apply(entities, 1))
    backend.take_place(monkeypatch)
    return backend


async def load(*words: str) -> Said:
    return await command("catalog", "import", "--config", "site-b.yaml", "f.yaml", *words)


async def export(*words: str) -> Said:
    return await command("catalog", "export", "--config", "site-a.yaml", "--namespaces", *words)


def write(text: str) -> None:
    Path("f.yaml").write_text(HEAD + text)


async def test_there_and_below(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, *sample().entities(), acls("TOPIC:LITERAL:*"), acls("CLUSTER:LITERAL:x"))
    said = await export("--output", "f.yaml")
    assert (said.status, said.out) == (0, "")
    assert said.err == (
        "kafka-gateway: Left out: namespaces that are being deleted: org:apache.\n"
        "kafka-gateway: Left out: ACLs on CLUSTER:LITERAL:x.\n"
    )
    backend = use(monkeypatch)
    said = await load("--under", "dr:a", "--yes")
    assert said.status == 0, said.err
    assert said.lines[0] == (
        "Wider than at the source: what is allowed on every topic there (*) is allowed on namespace"
        " 'dr:a' itself; with ALTER or ALL that is to create topics and namespaces in it, and to"
        " change the ACLs of everything in it, groups and transactional ids too."
    )
    assert said.lines[-1] == "Imported; the catalog has version 7."
    snapshot = backend.catalog.snapshot
    assert {path: dict(one.configs) for path, one in snapshot.namespaces.items()} == {
        "dr": {},
        "dr:a": {},
        "dr:a:org": {"retention.ms": "60000", "cleanup.policy": "compact,delete"},
        "dr:a:team-a": {"segment.ms": "1"},
    }
    assert set(map(str, snapshot.acls)) == {"TOPIC:PREFIXED:dr:a:", "TOPIC:PREFIXED:dr:a:org:"}
    again = await load("--under", "dr:a", "--no-acls", "--yes")
    assert "Wider" not in again.out
    again = await load("--under", "dr:a", "--yes", "--prune")
    assert again.status == 0
    assert again.lines[-1] == "0 added, 0 changed, 0 removed."
    assert backend.catalog.snapshot == snapshot


async def test_at_the_same_paths(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--prune removes no topics, homes or users, because the file has none of these."""
    use(monkeypatch, Namespace("org"), Namespace("team-a"), acls("TOPIC:LITERAL:org:"))
    await export("--output", "f.yaml")
    cluster = acls("CLUSTER:LITERAL:kafka-cluster")
    backend = use(monkeypatch, *sample().entities(), cluster, acls("TOPIC:LITERAL:x"))
    kept = backend.catalog.snapshot
    assert (await load("--yes", "--prune")).status == 0
    snapshot = backend.catalog.snapshot
    assert (snapshot.topics, snapshot.homes, snapshot.scram) == (
        kept.topics,
        kept.homes,
        kept.scram,
    )
    assert snapshot.seeded == kept.seeded
    assert set(map(str, snapshot.acls)) == {"TOPIC:LITERAL:org:", "CLUSTER:LITERAL:kafka-cluster"}
    assert set(snapshot.namespaces) == {"org", "team-a", "org:apache"}, "a gateway deletes the last"


async def test_a_full_export(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("f.yaml").write_text(export_text(sample()))
    backend = use(monkeypatch)
    said = await load("--under", "dr", "--json", "--yes")
    assert said.json["left_out"] == {
        "deleting": ["org:apache"],
        "acls": [],
        "kinds": {"homes": 1, "topics": 2},
    }
    assert [one["key"] for one in said.json["changes"]] == [
        "TOPIC:PREFIXED:dr:org:",
        "dr",
        "dr:org",
        "dr:team-a",
    ]
    assert (said.json["policies"], said.json["notes"]) == ([], [])
    assert backend.catalog.snapshot.topics == {}


async def test_it_is_shown_before_anybody_agrees(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = use(monkeypatch)
    write("namespaces: {org: {}}\npolicies: {org: {mode: warn, max_topics: 1}}\n")
    said = await load("--under", "dr")
    assert said.status == 1
    assert said.out == (
        "Policies that are not in policies.namespaces yet; an import leaves them to you "
        "(--policies-to FILE writes them):\n+ policies of namespace dr:org\n    max_topics: 1\n"
        "    mode: warn\n+ namespace dr\n+ namespace dr:org\n2 added, 0 changed, 0 removed.\n"
    )
    assert "pass --yes, or --dry-run" in said.err
    assert (await load("--under", "dr", "--dry-run")).status == 0
    assert backend.catalog.commits == []


async def test_acls_of_its_own(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(
        "namespaces: {org: {}}\nacls:\n- {type: TOPIC, pattern: LITERAL, name: x, entries: "
        "[{permission: ALLOW, operation: READ, principal: 'User:a'}]}\n"
    )
    backend = use(monkeypatch, Namespace("dr"), acls("TOPIC:LITERAL:dr:y"))
    assert (await load("--under", "dr", "--no-acls", "--prune", "--yes")).status == 0
    assert list(map(str, backend.catalog.snapshot.acls)) == ["TOPIC:LITERAL:dr:y"]
    assert "dr:org" in backend.catalog.snapshot.namespaces
    assert (await load("--under", "dr", "--prune", "--yes")).status == 0
    assert list(map(str, backend.catalog.snapshot.acls)) == ["TOPIC:LITERAL:dr:x"]


async def test_policies(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, Namespace("org"))
    await export("--output", "f.yaml", "--below", "org")
    words = ("--under", "dr", "--yes", "--policies-to", "policies.yaml")
    said = await load(*words)
    assert [line for line in said.lines if "policies of" in line] == [
        "+ policies of namespace dr:org",
        "+ policies of namespace dr:org:apache",
    ]
    written = yaml.safe_load(Path("policies.yaml").read_text())
    values = yaml.safe_load(Path("site-b.yaml").read_text())
    Path("site-b.yaml").write_text(yaml.safe_dump({**values, **written}))
    source, target = (load_config(Path(f"site-{one}.yaml")).policies for one in "ab")
    assert target.namespaces["dr:org"].ranges() == source.namespaces["org"].ranges()
    assert target.namespaces["dr:org"].mode == "warn"
    assert target.namespaces["dr:org:apache"].configs == source.namespaces["org:apache"].configs
    assert set(target.namespaces) == {"dr:org", "dr:org:apache"}
    said = await load(*words)
    assert (said.status, "'policies.yaml' is there already" in said.err) == (1, True)
    assert "give another --policies-to, or --force" in said.err
    assert (await load(*words, "--force")).out == "0 added, 0 changed, 0 removed.\n"
    written["policies"]["namespaces"]["dr:org"]["mode"] = "enforce"
    Path("site-b.yaml").write_text(yaml.safe_dump({**values, **written}))
    said = await load(*words, "--force")
    assert said.lines[1:3] == ["~ policies of namespace dr:org", "    mode: (none) -> warn"]


LONG = "n" * 242


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"namespaces:\n  {LONG}: {{}}\n", f"5: namespaces.{LONG}: 'dr:a:{LONG}' leaves none of"),
        (
            "namespaces:\n  org:\n    configs:\n      retention.ms: soon\n",
            "7: namespaces.org.configs.retention.ms: ",
        ),
        ("policies:\n  org:\n    retention.mx: 5\n", "6: policies.org.retention.mx: unknown key"),
        ("policies:\n  org: {partitions: {}}\n", "5: policies.org.partitions: has neither a min"),
        ("policies: {o_x: {}}\n", "4: policies.o_x: tier 'o_x' of namespace"),
        ("namespaces:\n  a:b: {}\n", "5: namespaces.a:b: has no namespace 'dr:a:a' above it"),
        ("topics: []\n", "4: topics: does not belong in a file of namespaces only; leave it out"),
        ("below: a_b\n", "4: below: tier 'a_b' of namespace 'a_b' is not"),
    ],
)
async def test_files_that_are_rejected(
    here: Path, monkeypatch: pytest.MonkeyPatch, text: str, told: str
) -> None:
    backend = use(monkeypatch)
    write(text)
    said = await load("--under", "dr:a", "--yes")
    assert (said.status, said.out) == (78, "")
    assert said.err.startswith(f"f.yaml:{told}")
    assert backend.catalog.commits == []


async def test_other_files(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch)
    for text, told in (
        ("below: org\n", "3: below: is a key of files with 'only: namespaces'; leave it out"),
        ("only: topics\n", "3: only: is something that this software does not know"),
    ):
        Path("f.yaml").write_text("format: 1\ncatalog_format: 1\n" + text)
        assert told in (await load("--yes")).err


async def test_topics_that_are_there(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = FakeBackend(Snapshot(), {"dr.a..x": {}, "dr.a.org..y": {}})
    backend.take_place(monkeypatch)
    write("namespaces: {org: {}}\n")
    said = await load("--under", "dr:a", "--yes")
    assert said.status == 78
    assert said.err.splitlines() == [
        "f.yaml: --under dr:a: would take over existing topics: dr.a..x; --adopt-existing makes "
        "them its own",
        "f.yaml:4: namespaces.org: would take over existing topics: dr.a.org..y; "
        "--adopt-existing makes them its own",
    ]
    assert (await load("--under", "dr:a", "--yes", "--adopt-existing")).status == 0
    write("namespaces: {}\n")
    said = await load("--under", "dr:a", "--yes", "--prune")
    assert said.status == 78
    assert "namespace 'dr:a:org' would be removed, and topics are in it: dr.a.org..y; " in said.err
    assert "topics --delete --namespace dr:a:org --recursive" in said.err


async def test_flags_that_do_not_go_together(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, Namespace("org"))
    write("")
    for said, told in (
        (await load("--under", "dr", "--secrets-from", "x"), "--secrets-from does not go with"),
        (await load("--under", "a_b"), "--under: tier 'a_b' of namespace 'a_b' is not"),
        (await export("--secrets-to", "x"), "--secrets-to does not go with --namespaces"),
        (
            await command("catalog", "export", "--config", "site-a.yaml", "--below", "org"),
            "--below goes with --namespaces",
        ),
    ):
        assert said.status == 2
        assert told in said.err
    said = await export("--below", "no")
    assert (said.status, "'no' does not exist, or is being deleted" in said.err) == (1, True)
    Path("f.yaml").write_text("format: 1\ncatalog_format: 1\n")
    said = await load("--policies-to", "p.yaml")
    assert (said.status, "that export --namespaces has written" in said.err) == (2, True)
    write("policies: {org: {max_topics: 1}}\n")
    said = await load("--policies-to", "no/p.yaml", "--yes")
    assert (said.status, "no/p.yaml: cannot be written" in said.err) == (1, True)
