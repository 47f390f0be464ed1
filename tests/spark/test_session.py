"""spark.session: which Java it takes, and the error if there is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark import SparkConf
from pyspark.sql import SparkSession

from spark import session
from spark.session import SetupError, find_java, java_version, make_session


@pytest.fixture(autouse=True)
def _nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_INSTALLED", ())
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv(session.KAFKA_JARS, raising=False)
    monkeypatch.setenv("PATH", "/nowhere")


def _java(home: Path, version: str, *, status: int = 0) -> Path:
    """A Java that reports this version."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\nexit {status}\n")
    program.chmod(0o755)
    return home


@pytest.mark.parametrize(("said", "expected"), [("17.0.15", 17), ("21", 21), ("1.8.0_401", 1)])
def test_a_java_says_its_version(tmp_path: Path, said: str, expected: int) -> None:
    assert java_version(_java(tmp_path, said)) == expected


def test_a_java_without_the_module_that_spark_asks_for_is_none(tmp_path: Path) -> None:
    assert java_version(_java(tmp_path / "cut-down", "21.0.8", status=1)) == 0
    assert java_version(tmp_path / "none") == 0


def test_what_the_user_says_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    homes = {name: _java(tmp_path / name, "17.0.1") for name in ("said", "path", "installed")}
    monkeypatch.setattr(session, "_INSTALLED", (f"{tmp_path}/inst*",))
    assert find_java() == homes["installed"]
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "java").symlink_to(homes["path"] / "bin" / "java")
    monkeypatch.setenv("PATH", str(tmp_path / "links"))
    assert find_java() == homes["path"]
    monkeypatch.setenv("JAVA_HOME", str(homes["said"]))
    assert find_java() == homes["said"]


@pytest.mark.parametrize("version", ["11.0.2", "25.0.1"])
def test_a_version_that_spark_does_not_run_on_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(_java(tmp_path / "other", version)))
    with pytest.raises(SetupError):
        find_java()
    monkeypatch.setattr(session, "_INSTALLED", (f"{tmp_path}/jvm/*",))
    good = _java(tmp_path / "jvm" / "java-21", "21.0.1")
    assert find_java() == good


def test_without_a_java_one_line_says_what_to_install() -> None:
    with pytest.raises(SetupError) as caught:
        make_session("test")
    assert "\n" not in str(caught.value)
    assert "openjdk-17" in str(caught.value)


def test_without_the_connector_one_line_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(_java(tmp_path / "java", "17.0.1")))
    with pytest.raises(SetupError, match="make spark"):
        make_session("test", kafka=True)
    monkeypatch.setenv(session.KAFKA_JARS, str(tmp_path))
    with pytest.raises(SetupError, match="make spark"):
        make_session("test", kafka=True)
    (tmp_path / "spark-sql-kafka-0-10_2.13-4.0.0.jar").touch()
    (tmp_path / "kafka-clients-3.9.0.jar").touch()
    jars = f"{tmp_path}/kafka-clients-3.9.0.jar,{tmp_path}/spark-sql-kafka-0-10_2.13-4.0.0.jar"
    assert session._connector(_given(), submitted=False) == {"spark.jars": jars}


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("spark.jars.packages", "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0"),
        ("spark.jars", "/jars/kafka-clients-3.9.1.jar,/jars/spark-sql-kafka-0-10_2.13-4.0.0.jar"),
    ],
)
def test_submitted_jobs_have_the_connector_from_spark_submit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, value: str
) -> None:
    assert session._connector(_given(**{setting: value}), submitted=True) == {}
    (tmp_path / "spark-sql-kafka-0-10_2.13-4.0.0.jar").touch()
    monkeypatch.setenv(session.KAFKA_JARS, str(tmp_path))
    with pytest.raises(SetupError, match="--packages or --jars"):
        session._connector(_given(), submitted=True)


def _given(**settings: str) -> SparkConf:
    made = SparkConf(loadDefaults=False)
    for key, value in settings.items():
        made.set(key, value)
    return made


def test_little_input_is_not_compiled_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second compiler, and the code that it would compile, cost more than they save."""
    options = session._started_here(small=True)["spark.driver.extraJavaOptions"]
    assert options.endswith(" -XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    usual = session._started_here(small=False)["spark.driver.extraJavaOptions"]
    assert options.startswith(usual)
    assert "XX" not in usual


@pytest.mark.parametrize(
    ("master", "expected"),
    [("local[2]", True), ("spark://127.0.0.1:7077", True), ("spark://host:7077", False)],
)
def test_on_this_machine_the_driver_is_at_loopback(master: str, expected: bool) -> None:
    assert session._is_on_this_machine(master) is expected


def test_the_settings_hold(spark: SparkSession) -> None:
    conf = spark.conf
    assert conf.get("spark.sql.session.timeZone") == "UTC"
    assert conf.get("spark.sql.ansi.enabled") == "true"
    assert conf.get("spark.ui.enabled") == "false"
    assert conf.get("spark.driver.host") == "127.0.0.1"
