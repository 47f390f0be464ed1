"""spark.ingest from a real Kafka topic: exactly once, killed and started again."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from devkit.broker import KafkaCluster
from devkit.spark_jars import spark_jars
from spark import records
from spark.session import KAFKA_JARS
from spark.table import Table
from tests.spark.ingesting import SECONDS, STREAM, await_batch, ingesting, kill
from tests.spark.lines import numbered

_TOPIC = "traffic"


def _produce(kafka: KafkaCluster, lines: list[str]) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for one in lines:
        producer.produce(_TOPIC, one.encode())
    assert producer.flush(60) == 0


@pytest.mark.live
@pytest.mark.long("kills")
@pytest.mark.timeout(1800)
def test_every_record_of_a_topic_once(
    spark: SparkSession, kafka: KafkaCluster, tmp_path: Path
) -> None:
    source = f"kafka://{kafka.bootstrap_servers}/{_TOPIC}"
    table, log = Table(spark, str(tmp_path / "table")), tmp_path / "ingest.log"
    env = {KAFKA_JARS: str(spark_jars())}
    _produce(kafka, [*numbered(0, 500), "none"])
    with ingesting(source, tmp_path / "table", log, env=env) as process:
        await_batch(table, -1, process, log)
        _produce(kafka, numbered(500, 500))
        kill(process)
    # Written again, as by a gateway whose response was lost.
    _produce(kafka, [*numbered(900, 100), *numbered(1000, 100), *numbered(1090, 10)])
    with ingesting(source, tmp_path / "table", log, "--once", env=env) as process:
        assert process.wait(SECONDS) == 0, log.read_text()
    rows = records.read_table(spark, table.path).collect()
    assert sorted(int(row.client_id) for row in rows) == list(range(1100))
    assert table.snapshot().streams[STREAM].counts.repeated == 110
    (bad,) = records.read_quarantine(spark, table.path).collect()
    assert (bad.reason, bad.source, bad.line) == (records.CORRUPT, f"{_TOPIC}-0@500", "none")
