"""gateway.commands.catalog.judging: the cluster's verdict on an import before it is committed."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.catalog.entities import Namespace, TopicEntry
from gateway.catalog.snapshot import Snapshot
from gateway.names import LogicalName
from tests.commands.fake_backend import FakeBackend
from tests.commands.running import Said, command
from tests.config import config_samples

HEAD = "format: 1\ncatalog_format: 1\nnamespaces:\n"


async def imported(
    directory: Path, monkeypatch: pytest.MonkeyPatch, backend: FakeBackend, text: str, *words: str
) -> Said:
    backend.take_place(monkeypatch)
    path = directory / "c.yaml"
    path.write_text(HEAD + text)
    config = str(config_samples.write(directory))
    said = await command("catalog", "import", "--config", config, "--yes", str(path), *words)
    if said.status:
        assert said.status in (69, 78)
        assert (said.out, backend.catalog.commits) == ("", [])
    return said


async def test_configs_that_no_broker_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = FakeBackend(Snapshot.of(["org"]))
    text = "  org:\n    configs:\n      segment.ms: '1'\n      retention.ms: soon\n  x: {}\n"
    said = await imported(tmp_path, monkeypatch, backend, text)
    assert said.err == (
        f"{tmp_path}/c.yaml:7: namespaces.org.configs.retention.ms: Invalid value soon for "
        "configuration retention.ms, says the broker of namespace 'org'; correct it\n"
    )


async def test_configs_that_do_not_go_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with inherited configs; then no key is to blame."""
    backend = FakeBackend(Snapshot().apply([Namespace("org", {"a": "1"})], 1))
    text = "  org:\n    configs:\n      a: '1'\n  org:x:\n    configs:\n      b: '1'\n"
    said = await imported(tmp_path, monkeypatch, backend, text)
    assert said.err == (
        f"{tmp_path}/c.yaml:7: namespaces.org:x: a and b do not go together, says the broker of "
        "namespace 'org:x'; correct it\n"
    )
    assert backend.cluster.validated[0] == {"a": "1", "b": "1"}


async def test_what_is_new_alone_is_asked_and_each_set_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = FakeBackend(Snapshot().apply([Namespace("old", {"a": "7"})], 1))
    text = "".join(f"  {one}:\n    configs:\n      a: '{n}'\n" for one, n in [("x", 1), ("y", 1)])
    said = await imported(
        tmp_path, monkeypatch, backend, f"{text}  old:\n    configs: {{a: '7'}}\n"
    )
    assert (said.status, said.err) == (0, "")
    assert backend.cluster.validated == [{"a": "1"}]
    assert backend.catalog.snapshot.namespaces["y"].configs == {"a": "1"}


TOPICS: dict[str, dict[str, tuple[str, int]]] = {
    flat: {} for flat in ("org..a", "org.x..b", "org__c", "other..d", "old..e", "plain")
}


async def test_topics_that_would_be_taken_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = FakeBackend(Snapshot.of(["old"]), TOPICS)
    text = "  old: {}\n  org: {}\n  org:x: {}\n"
    said = await imported(tmp_path, monkeypatch, backend, text)
    assert said.err == (
        f"{tmp_path}/c.yaml:5: namespaces.org: would take over existing topics: org..a, org__c; "
        "--adopt-existing makes them its own\n"
        f"{tmp_path}/c.yaml:6: namespaces.org:x: would take over existing topics: org.x..b; "
        "--adopt-existing makes them its own\n"
    )
    assert backend.cluster.refreshed == 1
    # A name that is only equal after Kafka's folding is not in the namespace.
    said = await imported(tmp_path, monkeypatch, backend, text, "--adopt-existing")
    assert said.err == (
        f"{tmp_path}/c.yaml:5: namespaces.org: would take over existing topics: org__c; "
        "give them an entry in 'topics', with 'flat' and a 'name' in it\n"
    )
    text += "topics:\n- {name: 'org:c', flat: org__c}\n"
    said = await imported(tmp_path, monkeypatch, backend, text, "--adopt-existing")
    assert (said.status, said.err) == (0, "")
    assert set(backend.catalog.snapshot.namespaces) == {"old", "org", "org:x"}
    entry = TopicEntry("org__c", LogicalName("org", "c"))
    assert backend.catalog.snapshot.topics == {"org__c": entry}


async def test_groups_and_ids_that_would_be_taken_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = FakeBackend(Snapshot.of(["old"]), {})
    backend.cluster.groups = ["org..g", "org.x..g", "old..g", "org__g", "g"]
    backend.cluster.ids = ["org..tx"]
    text = "  old: {}\n  org: {}\n"
    said = await imported(tmp_path, monkeypatch, backend, text)
    assert said.err == (
        f"{tmp_path}/c.yaml:5: namespaces.org: would take over existing groups: org..g; "
        "--adopt-existing makes them its own\n"
        f"{tmp_path}/c.yaml:5: namespaces.org: would take over existing transactional ids: org..tx;"
        " --adopt-existing makes them its own\n"
    )
    backend.cluster.silent = True
    said = await imported(tmp_path, monkeypatch, backend, text)
    assert (said.status, "Not all brokers list their groups" in said.err) == (69, True)
    said = await imported(tmp_path, monkeypatch, backend, text, "--adopt-existing")
    assert (said.status, said.err) == (0, "")
    assert set(backend.catalog.snapshot.namespaces) == {"old", "org"}


async def test_a_catalog_that_was_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = FakeBackend(None, TOPICS)
    said = await imported(tmp_path, monkeypatch, backend, "  org:x: {}\n  org: {}\n", "--dry-run")
    assert said.status == 78
    backend = FakeBackend(None, {"org.x..b": {}})
    said = await imported(
        tmp_path, monkeypatch, backend, "  org:x: {}\n  org: {}\n", "--adopt-existing"
    )
    assert (said.status, said.err) == (0, "")
    assert set(backend.catalog.snapshot.namespaces) == {"org", "org:x"}
