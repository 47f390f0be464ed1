"""devkit.spark_jars: a directory with the connector's jars and no others."""

from __future__ import annotations

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from devkit import spark_jars
from devkit.maven import LOCK_DIR, PROVIDED, MavenError, read_lock


@pytest.fixture
def fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two archives that count as fetched, in a cache of the test's own."""
    monkeypatch.setenv("KAFKA_GATEWAY_CACHE", str(tmp_path / "cache"))
    for name in ("a-1.jar", "b-2.jar"):
        (tmp_path / name).write_text(name)
    monkeypatch.setattr(
        spark_jars, "jars", lambda _name: (tmp_path / "a-1.jar", tmp_path / "b-2.jar")
    )
    return tmp_path


def test_the_directory_has_what_the_lock_file_names(fetched: Path) -> None:
    directory = spark_jars.spark_jars()
    (directory / "a-0.jar").write_text("an older one")
    (directory / "b-2.jar").write_text("cut")
    assert spark_jars.spark_jars() == directory
    found = {path.name: path.read_text() for path in directory.iterdir()}
    assert found == {"a-1.jar": "a-1.jar", "b-2.jar": "b-2.jar"}
    assert fetched in directory.parents


def test_two_may_ask_at_once(fetched: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy, both = shutil.copyfile, threading.Barrier(2)

    def slow(source: Path, target: Path) -> None:
        copy(source, target)
        with suppress(threading.BrokenBarrierError):
            both.wait(0.3)  # the other call, if it gets that far

    monkeypatch.setattr(shutil, "copyfile", slow)
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(spark_jars.spark_jars) for _ in range(2)]
        directories = {one.result() for one in asked}
    (directory,) = directories
    assert {path.name for path in directory.iterdir()} == {"a-1.jar", "b-2.jar"}


def test_the_program_prints_the_directory(
    fetched: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert spark_jars.main() == 0
    assert capsys.readouterr().out == f"{fetched}/cache/spark-kafka\n"

    def fail(_name: str) -> tuple[Path, ...]:
        raise MavenError("no network")

    monkeypatch.setattr(spark_jars, "jars", fail)
    assert spark_jars.main() == 1
    assert capsys.readouterr().err == "no network\n"


def test_what_spark_brings_itself_is_not_in_the_set() -> None:
    locked = read_lock(LOCK_DIR / f"{spark_jars.JAR_SET}.lock")
    names = {f"{jar.group}:{jar.artifact}" for jar in locked}
    assert names.isdisjoint(PROVIDED[spark_jars.JAR_SET])
    assert "org.apache.kafka:kafka-clients" in names


def test_the_connector_is_of_the_version_that_pyspark_has() -> None:
    locked = read_lock(LOCK_DIR / f"{spark_jars.JAR_SET}.lock")
    (connector,) = (jar for jar in locked if jar.artifact.startswith("spark-sql-kafka"))
    wanted = Path("requirements/spark.txt").read_text()
    assert f"pyspark=={connector.version} " in wanted
