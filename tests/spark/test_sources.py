"""spark.sources: which lines are read."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark import sources
from spark.filesystem import FileSystem
from spark.sources import KafkaTopic, SourceError
from tests.spark.lines import compressed, finished_file, numbered


def test_a_topic_is_told_from_a_path() -> None:
    topic = sources.kafka_topic("kafka://a:1,b:2/traffic", {"security.protocol": "SSL"})
    assert topic == KafkaTopic("a:1,b:2", "traffic", {"security.protocol": "SSL"})
    assert topic.settings() == {
        "kafka.security.protocol": "SSL",
        "kafka.bootstrap.servers": "a:1,b:2",
        "subscribe": "traffic",
        "startingOffsets": "earliest",
        "failOnDataLoss": "true",
    }
    assert sources.kafka_topic("/var/log/traffic") is None
    assert sources.kafka_topic("s3a://bucket/traffic") is None


@pytest.mark.parametrize("wrong", ["kafka://", "kafka://a:1", "kafka://a:1/", "kafka://a:1/b/c"])
def test_half_a_topic_is_an_error(wrong: str) -> None:
    with pytest.raises(SourceError, match="HOST:PORT/TOPIC"):
        sources.kafka_topic(wrong)


def test_a_file_that_is_there_in_both_forms_is_read_in_one() -> None:
    paths = ["/b.jsonl", "/a.jsonl.gz", "/a.jsonl", "/c.jsonl.gz.tmp", "/c.jsonl", "/readme"]
    assert sources.each_line_once(paths) == ["/a.jsonl.gz", "/b.jsonl", "/c.jsonl"]
    assert sources.unfinished("/a.jsonl.gz") == sources.unfinished("/a.jsonl") == "/a.jsonl"


def test_files_at_any_depth_and_by_wildcards(spark: SparkSession, tmp_path: Path) -> None:
    for folder in ("east", "west"):
        (tmp_path / folder).mkdir()
        finished_file(tmp_path / folder / "a.jsonl.gz", numbered(1, 2))
    (tmp_path / "b.jsonl").write_text("x\n")
    files = FileSystem(spark)
    assert len(sources.log_files(files, str(tmp_path))) == 3
    assert sources.log_files(files, f"{tmp_path}/*/a*") == [
        f"file:{tmp_path}/{folder}/a.jsonl.gz" for folder in ("east", "west")
    ]
    with pytest.raises(SourceError, match="there is nothing"):
        sources.log_files(files, f"{tmp_path}/north")


def test_names_are_no_patterns_and_hidden_ones_are_left_out(
    spark: SparkSession, tmp_path: Path
) -> None:
    odd = tmp_path / "_logs [a]{b}"
    (odd / "_old").mkdir(parents=True)
    finished_file(odd / "a[1].jsonl.gz", numbered(1, 2))
    for hidden in ("_old/a.jsonl", ".b.jsonl", "_c.jsonl"):
        (odd / hidden).write_text("x\n")
    logs = sources.log_files(FileSystem(spark), f"{tmp_path}/_logs*")
    assert logs == [f"file:{odd}/a[1].jsonl.gz"]
    assert sources.read_files(spark, logs).count() == 2


def test_lines_come_with_their_file(spark: SparkSession, tmp_path: Path) -> None:
    one = finished_file(tmp_path / "a.jsonl.gz", numbered(1, 2))
    (tmp_path / "b.jsonl").write_text("carriage\rreturn\n\nlast")
    rows = sources.read_files(spark, [str(one), str(tmp_path / "b.jsonl")]).collect()
    found = sorted((row.source.rpartition("/")[2], row.line) for row in rows)
    assert found[:2] == [("a.jsonl.gz", each) for each in numbered(1, 2)]
    assert found[2:] == [("b.jsonl", ""), ("b.jsonl", "carriage\rreturn"), ("b.jsonl", "last")]
    assert sources.read_files(spark, []).collect() == []


def test_a_torn_file_is_an_error_unless_it_is_known(spark: SparkSession, tmp_path: Path) -> None:
    whole = compressed(numbered(0, 2000))
    torn = tmp_path / "torn.jsonl.gz"
    torn.write_bytes(whole[: len(whole) // 2])
    sound = finished_file(tmp_path / "sound.jsonl.gz", numbered(0, 2))
    with pytest.raises(Exception, match="FAILED_READ_FILE"):
        sources.read_files(spark, [str(torn)]).collect()
    assert 100 < sources.read_files(spark, [str(torn)], torn=True).count() < 2000
    gone = f"{tmp_path}/gone.jsonl.gz"
    files = FileSystem(spark)
    found = sources.torn_files(files, [str(torn), str(sound), gone, "/x.jsonl"])
    assert list(found) == [str(torn)]
    assert sources.missing_files(files, [str(torn), gone, "/x.jsonl"]) == [gone, "/x.jsonl"]
    assert "EOFException" in found[str(torn)]


def test_records_of_a_topic_say_where_they_were(spark: SparkSession) -> None:
    record = spark.range(1).select(
        F.lit("traffic").alias("topic"),
        F.lit(3).alias("partition"),
        F.lit(5).cast("long").alias("offset"),
        F.encode(F.lit("a line"), "utf-8").alias("value"),
    )
    assert [tuple(row) for row in sources.kafka_lines(record).collect()] == [
        ("a line", "traffic-3@5")
    ]
