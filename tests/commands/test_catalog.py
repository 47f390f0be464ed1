"""gateway.commands.catalog.command: the subcommand catalog."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from gateway.catalog.entities import Gateway, Member, Namespace
from gateway.catalog.snapshot import Snapshot
from gateway.commands.catalog.file import export_text, secrets_text
from tests.commands.catalog_samples import sample
from tests.commands.fake_backend import FakeBackend
from tests.commands.running import Said, command
from tests.config import config_samples


@pytest.fixture
def config(tmp_path: Path) -> str:
    return str(config_samples.write(tmp_path))


async def catalog(action: str, config: str, *words: str) -> Said:
    return await command("catalog", action, "--config", config, *words)


def use(monkeypatch: pytest.MonkeyPatch, snapshot: Snapshot | None) -> FakeBackend:
    backend = FakeBackend(snapshot)
    backend.take_place(monkeypatch)
    return backend


def written(tmp_path: Path, snapshot: Snapshot) -> str:
    path = tmp_path / "catalog.yaml"
    path.write_text(export_text(snapshot))
    return str(path)


# -- export -----------------------------------------------------------------------------------


async def test_export(monkeypatch: pytest.MonkeyPatch, config: str, tmp_path: Path) -> None:
    backend = use(monkeypatch, sample())
    said = await catalog("export", config)
    assert (said.status, said.out, said.err) == (0, export_text(sample()), "")
    files = [tmp_path / "catalog.yaml", tmp_path / "secrets.yaml"]
    words = ["--output", str(files[0]), "--secrets-to", str(files[1])]
    said = await catalog("export", config, *words)
    assert (said.status, said.out, said.err) == (0, "", "")
    assert files[0].read_text() == export_text(sample())
    assert files[1].read_text() == secrets_text(sample())
    assert files[1].stat().st_mode & 0o777 == 0o600
    assert backend.opened == ["to read", "to read"]


@pytest.mark.parametrize("flag", ["--output", "--secrets-to"])
async def test_a_file_that_is_there_is_kept(
    monkeypatch: pytest.MonkeyPatch, config: str, tmp_path: Path, flag: str
) -> None:
    backend = use(monkeypatch, sample())
    files = {one: tmp_path / f"{one[2:]}.yaml" for one in ("--output", "--secrets-to")}
    files[flag].write_text("mine")
    words = [word for one in files.items() for word in map(str, one)]
    said = await catalog("export", config, *words)
    assert (said.status, said.out) == (1, "")
    assert f"'{files[flag]}' is there already" in said.err
    assert f"give another {flag}, or --force" in said.err
    assert files[flag].read_text() == "mine"
    assert [path for path in files.values() if path.exists()] == [files[flag]]
    assert backend.opened == []
    assert (await catalog("export", config, *words, "--force")).status == 0
    assert files["--output"].read_text() == export_text(sample())
    assert files["--secrets-to"].read_text() == secrets_text(sample())


async def test_an_export_to_what_is_no_file(monkeypatch: pytest.MonkeyPatch, config: str) -> None:
    """A device exists, and has no content to lose."""
    use(monkeypatch, sample())
    assert (await catalog("export", config, "--output", "/dev/null")).status == 0


async def test_export_to_nowhere(
    monkeypatch: pytest.MonkeyPatch, config: str, tmp_path: Path
) -> None:
    use(monkeypatch, sample())
    path = str(tmp_path / "no" / "such")
    for flag in ("--output", "--secrets-to"):
        said = await catalog("export", config, flag, path)
        assert (said.status, said.out) == (1, "")
        assert said.err == (
            f"kafka-gateway: {path}: cannot be written: No such file or directory; "
            "choose another file\n"
        )


async def test_without_a_catalog(monkeypatch: pytest.MonkeyPatch, config: str) -> None:
    use(monkeypatch, None)
    for action in ("export", "status"):
        said = await catalog(action, config)
        assert (said.status, said.out) == (1, "")
        assert said.err == "kafka-gateway: cluster 'main' has no catalog yet\n"


# -- import -----------------------------------------------------------------------------------


async def test_import_shows_and_commits(
    monkeypatch: pytest.MonkeyPatch, config: str, tmp_path: Path
) -> None:
    backend = use(monkeypatch, Snapshot.of(["org"]))
    path = written(tmp_path, Snapshot.of(["org", "team-a:x"]))
    said = await catalog("import", config, path, "--yes")
    assert (said.status, said.err) == (0, "")
    assert said.out == (
        "+ namespace team-a\n+ namespace team-a:x\n2 added, 0 changed, 0 removed.\n"
        "Imported; the catalog has version 3.\n"
    )
    assert set(backend.catalog.snapshot.namespaces) == {"org", "team-a", "team-a:x"}
    assert backend.catalog.commits == [2]
    said = await catalog("import", config, path, "--yes")
    assert (said.status, said.out) == (0, "0 added, 0 changed, 0 removed.\n")
    assert backend.opened == ["to read", "to write", "to read"]


async def test_import_into_a_cluster_without_a_catalog(
    monkeypatch: pytest.MonkeyPatch, config: str, tmp_path: Path
) -> None:
    backend = use(monkeypatch, None)
    path = written(tmp_path, sample())
    assert (await catalog("import", config, path, "--dry-run")).status == 0
    assert backend.opened == ["to read"]
    assert (await catalog("import", config, path, "--yes")).status == 0
    snapshot = backend.catalog.snapshot
    assert (snapshot.namespaces, snapshot.topics) == (sample().namespaces, sample().topics)
    assert (snapshot.acls, snapshot.homes) == (sample().acls, sample().homes)
    assert snapshot.gateways == {}
    assert snapshot.scram == {}, "its file was not given"
    secrets = tmp_path / "secrets.yaml"
    secrets.write_text(secrets_text(sample()))
    words = ["--prune", "--yes", "--secrets-from", str(secrets)]
    said = await catalog("import", config, path, *words)
    assert said.lines[0] == "+ SCRAM-SHA-256 credential of alice"
    assert backend.catalog.snapshot.scram == sample().scram
    assert (await catalog("import", config, path, "--prune", "--yes")).status == 0
    assert backend.catalog.snapshot.scram == sample().scram, "nor does it prune what it lacks"


async def test_prune(monkeypatch: pytest.MonkeyPatch, config: str, tmp_path: Path) -> None:
    backend = use(monkeypatch, Snapshot.of(["org", "old:x"]))
    path = written(tmp_path, Snapshot.of(["org"]))
    said = await catalog("import", config, path, "--yes")
    assert said.out == "0 added, 0 changed, 0 removed.\n"
    said = await catalog("import", config, path, "--yes", "--prune")
    assert said.lines[:3] == [
        "- namespace old:x",
        "- namespace old",
        "0 added, 0 changed, 2 removed.",
    ]
    assert set(backend.catalog.snapshot.namespaces) == {"org"}


async def test_prune_shows_what_is_lost(
    monkeypatch: pytest.MonkeyPatch, config: str, tmp_path: Path
) -> None:
    use(monkeypatch, Snapshot().apply([Namespace("old", {"retention.ms": "1"})], 1))
    path = written(tmp_path, Snapshot())
    said = await catalog("import", config, path, "--dry-run", "--prune")
    assert said.lines[:2] == ["- namespace old", "    configs.retention.ms: 1 -> (none)"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stdin", "status", "told"),
    [
        (Terminal("y\n"), 0, "Import this? [y/N] "),
        (Terminal("no\n"), 1, "Import this? [y/N] kafka-gateway: nothing was imported\n"),
        (
            io.StringIO("y\n"),
            1,
            "kafka-gateway: nothing was imported: there is no terminal to ask at; pass --yes, or "
            "--dry-run\n",
        ),
    ],
)
async def test_somebody_has_to_agree(
    monkeypatch: pytest.MonkeyPatch,
    config: str,
    tmp_path: Path,
    stdin: io.StringIO,
    status: int,
    told: str,
) -> None:
    backend = use(monkeypatch, Snapshot())
    monkeypatch.setattr(sys, "stdin", stdin)
    said = await catalog("import", config, written(tmp_path, Snapshot.of(["org"])))
    assert (said.status, said.err) == (status, told)
    assert said.lines[0] == "+ namespace org"
    assert bool(backend.catalog.commits) is (status == 0)


async def test_import_as_json(monkeypatch: pytest.MonkeyPatch, config: str, tmp_path: Path) -> None:
    use(monkeypatch, Snapshot())
    path = written(tmp_path, Snapshot.of(["org"]))
    changes: list[dict[str, object]] = [
        {"kind": "namespace", "key": "org", "before": None, "after": {}}
    ]
    said = await catalog("import", config, path, "--json", "--dry-run")
    assert said.json == {"committed": False, "changes": changes}
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    said = await catalog("import", config, path, "--json")
    assert said.json == {"committed": True, "changes": changes}
    assert said.err.startswith("+ namespace org\n1 added, 0 changed, 0 removed.\nImport this?")


async def test_a_change_in_between_is_noticed(
    monkeypatch: pytest.MonkeyPatch, config: str, tmp_path: Path
) -> None:
    backend = use(monkeypatch, Snapshot())

    def somebody() -> None:
        backend.catalog.snapshot = Snapshot.of(["org"])

    backend.catalog.before[0] = somebody
    said = await catalog("import", config, written(tmp_path, Snapshot.of(["org"])), "--yes")
    assert said.status == 1
    assert said.err == (
        "kafka-gateway: the catalog has changed meanwhile (namespace org), so nothing was "
        "committed; import once more to see what is left to do\n"
    )


async def test_files_that_are_rejected(
    monkeypatch: pytest.MonkeyPatch, config: str, tmp_path: Path
) -> None:
    backend = use(monkeypatch, Snapshot())
    path = tmp_path / "catalog.yaml"
    for text, told in (
        ("format: 1\ncatalog_format: 1\nnamespaces:\n  a:b: {}\n", "4: namespaces.a:b: has no na"),
        ("format: 1\ncatalog_format: 9\n", "2: catalog_format: is 9, and this catalog has 1; "),
        ("nonsense", "must hold keys of its own"),
    ):
        path.write_text(text)
        said = await catalog("import", config, str(path), "--yes")
        assert (said.status, said.out) == (78, "")
        assert said.err.startswith(f"{path}:")
        assert told in said.err
    path.write_text("format: 1\ncatalog_format: 1\n")
    said = await catalog("import", config, str(path), "--secrets-from", str(tmp_path / "none"))
    assert (said.status, said.out) == (78, "")
    assert "none: cannot be read: No such file or directory" in said.err
    assert backend.catalog.commits == []


# -- status, upgrade, forget ------------------------------------------------------------------


async def test_status(monkeypatch: pytest.MonkeyPatch, config: str) -> None:
    use(monkeypatch, sample())
    said = await catalog("status", config)
    assert (said.status, said.err) == (0, "")
    assert said.out == (
        "cluster        main\n"
        "version        7\n"
        "format         1 (this software reads up to 6)\n"
        "signed         no\n"
        "namespaces     3 (1 being deleted)\n"
        "topic entries  2 (1 alias)\n"
        "links          0 (0 dangling)\n"
        "ACLs           2 (of 1 pattern)\n"
        "SCRAM          1 credential\n"
        "homes          1 principal\n"
        "subscriptions  0 of client metrics\n"
        "gateway        gateway-1, software 0.1.0, reads format 1\n"
    )
    said = await catalog("status", config, "--json")
    assert said.json == {
        "cluster": "main",
        "version": 7,
        "format": 1,
        "newest_format": 6,
        "signed_with": None,
        "number": None,
        "namespaces": 3,
        "namespaces_deleting": 1,
        "topic_entries": 2,
        "aliases": 1,
        "links": 0,
        "links_dangling": 0,
        "acls": 2,
        "scram_credentials": 1,
        "principal_homes": 1,
        "client_metrics": 0,
        "gateways": [{"gateway_id": "gateway-1", "format": 1, "software": "0.1.0"}],
    }


async def test_status_of_a_fleet(monkeypatch: pytest.MonkeyPatch, config: str) -> None:
    members = [
        Member("gw-b", 2, {"all": "b.example:9201"}),
        Member("gateway-1", 1, {"other": "a.example:9301", "all": "a.example:9201"}),
    ]
    use(monkeypatch, sample().apply(members, 9))
    said = await catalog("status", config)
    assert said.out.endswith(
        "gateway          gateway-1, software 0.1.0, reads format 1\n"
        "node 1073741825  gateway-1 at a.example:9201 (all), a.example:9301 (other)\n"
        "node 1073741826  gw-b at b.example:9201 (all)\n"
    )
    said = await catalog("status", config, "--json")
    (one,) = said.json["gateways"]
    assert (one["node_id"], one["addresses"]) == (1_073_741_825, dict(members[1].addresses))


async def test_upgrade(monkeypatch: pytest.MonkeyPatch, config: str) -> None:
    use(monkeypatch, sample())
    said = await catalog("upgrade", config, "--format", "1")
    assert (said.status, said.out) == (0, "The catalog has format 1.\n")
    said = await catalog("upgrade", config, "--format", "99")
    assert (said.status, said.out) == (1, "")
    assert said.err.startswith("kafka-gateway: the format was not raised: ")


async def test_forget(monkeypatch: pytest.MonkeyPatch, config: str) -> None:
    backend = use(monkeypatch, sample())
    said = await catalog("forget", config, "--gateway", "gateway-2")
    assert (said.status, said.out) == (1, "")
    assert said.err == (
        "kafka-gateway: gateway 'gateway-2' takes no part in the catalog; those that do: "
        "gateway-1\n"
    )
    said = await catalog("forget", config, "--gateway", "gateway-1")
    assert (said.status, said.err) == (0, "")
    assert said.out == (
        "Gateway gateway-1 is forgotten. If it still runs, or starts again, it takes part again "
        "by itself: forget only one that is gone for good.\n"
    )
    assert backend.catalog.snapshot.gateways == {}


async def test_an_older_gateway_is_in_the_way_of_an_upgrade(
    monkeypatch: pytest.MonkeyPatch, config: str
) -> None:
    use(monkeypatch, sample().apply([Gateway("old", 0, "0.0.1"), Namespace("x")], 9))
    said = await catalog("upgrade", config, "--format", "1")
    assert said.status == 1
    assert "'old' (0.0.1, format 0)" in said.err


async def test_a_rejected_configuration(tmp_path: Path) -> None:
    path = config_samples.write(tmp_path, worker=1)
    said = await catalog("status", str(path))
    assert (said.status, said.out) == (78, "")
    assert said.err.startswith(f"{path}:")


@pytest.mark.parametrize("words", [[], ["dance"], ["upgrade", "--config", "c"], ["export"]])
async def test_what_makes_no_sense(words: list[str]) -> None:
    said = await command("catalog", *words)
    assert (said.status, said.out) == (2, "")
