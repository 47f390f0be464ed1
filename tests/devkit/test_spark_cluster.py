"""devkit.spark_cluster: how it reads a log, and the arguments of its programs.

tests/spark/test_cluster.py tests that a cluster runs.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from devkit import spark_cluster
from devkit.spark_cluster import Addresses, SparkCluster, SparkClusterError

_MASTER = "26/11/22 10:00:00 INFO Master: Starting Spark master at spark://127.0.0.1:45695\n"
_PAGE = (
    "26/11/22 10:00:01 INFO MasterWebUI: Bound MasterWebUI to 127.0.0.1, and started at "
    "http://127.0.0.1:46505\n"
)


def test_a_master_says_where_it_is() -> None:
    assert Addresses.of_log("") is None
    assert Addresses.of_log(_MASTER) is None
    assert Addresses.of_log(_MASTER + _PAGE) == Addresses("spark://127.0.0.1:45695", 46505)


def test_a_line_that_is_half_written_is_not_read() -> None:
    assert Addresses.of_log(_MASTER + _PAGE.rstrip()[:-2]) is None


def test_settings_for_another_spark_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_cluster, "find_java", lambda: Path("/java"))
    monkeypatch.setattr(spark_cluster, "spark_home", lambda: Path("/spark"))
    monkeypatch.setenv("SPARK_HOME", "/other")
    monkeypatch.setenv("SPARK_MASTER_HOST", "elsewhere")
    monkeypatch.setenv("PATH", "/bin")
    made = spark_cluster.environment(tmp_path)
    assert "SPARK_MASTER_HOST" not in made
    assert (made["SPARK_HOME"], made["JAVA_HOME"], made["PATH"]) == ("/spark", "/java", "/bin")


def test_one_that_does_not_start_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / "spark-class"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho no such class\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(spark_cluster, "find_java", lambda: Path("/java"))
    monkeypatch.setattr(spark_cluster, "spark_home", lambda: tmp_path)
    cluster = SparkCluster()
    with pytest.raises(SparkClusterError, match=r"(?s)Spark master ended by itself.*no such class"):
        cluster.start()
    with pytest.raises(SparkClusterError, match="not running"):
        _ = cluster.master
    cluster.stop()


def test_without_pyspark_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(SparkClusterError, match="make spark"):
        spark_cluster.spark_home()
