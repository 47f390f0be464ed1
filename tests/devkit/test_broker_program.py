"""devkit.broker_program: which Kafka a broker runs. test_broker starts brokers, and
tests/live/oracle/test_policy_oracle.py tests a policy on the class path."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from devkit import broker_program, java
from devkit.broker_program import BrokerProgram


@pytest.fixture(autouse=True)
def _no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fetch nothing: a set of archives is an archive of its name."""
    monkeypatch.setattr(java, "find_java", lambda: "java")
    monkeypatch.setattr(java, "jars", lambda name: (Path(f"{name}.jar"),))
    monkeypatch.setattr(broker_program, "archive_options", lambda jar_set: ("-archive",))


def test_a_version_is_told_by_the_set_s_archives() -> None:
    assert BrokerProgram().version == "4.3.1"
    assert BrokerProgram("kafka-3.9").version == "3.9.1"


@pytest.mark.parametrize("jar_set", ["kafka", "kafka-3.9"])
def test_one_s_own_classes_come_first(jar_set: str, tmp_path: Path) -> None:
    """For both commands, because StorageTool reads the broker's configuration, which may name
    them."""
    program = BrokerProgram(jar_set, tmp_path)
    for command in (program.format_command(["format"]), program.serve_command(Path("p"))):
        class_path = command[command.index("-cp") + 1]
        assert class_path == os.pathsep.join([str(tmp_path), f"{jar_set}.jar"])


def test_java_s_options() -> None:
    slow = BrokerProgram(heap="1g", quick_start=False).serve_command(Path("server.properties"))
    assert "-Xmx1g" in slow
    assert slow[-2:] == ["kafka.Kafka", "server.properties"]
    quick = BrokerProgram().serve_command(Path("server.properties"))
    assert {*quick} - {*slow} == {"-Xmx512m", "-XX:TieredStopAtLevel=1"}


def test_the_class_archive_fits_kafka_s_own_class_path(tmp_path: Path) -> None:
    properties = Path("server.properties")
    assert "-archive" in BrokerProgram().serve_command(properties)
    assert "-archive" not in BrokerProgram(classes=tmp_path).serve_command(properties)
    writing = BrokerProgram(archive_classes=tmp_path / "new.jsa").serve_command(properties)
    assert f"-XX:ArchiveClassesAtExit={tmp_path / 'new.jsa'}" in writing
    assert "-archive" not in writing


def test_what_it_needs_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[str] = []
    monkeypatch.setattr(broker_program, "fetch_java", fetched.append)
    BrokerProgram("kafka-3.9").fetch()
    assert fetched == ["kafka-3.9"]
