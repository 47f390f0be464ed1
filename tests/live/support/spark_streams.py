"""Spark's Kafka source and sink at several addresses at once: a program of the live tests.

``python -m tests.live.support.spark_streams PLAN`` reads its plan, JSON, from a file, and prints a
JSON object: for each place what Spark has read and written there. A second run with the same plan
goes on from the checkpoints of the first.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


@dataclass(frozen=True)
class Place:
    """A listener: its address, the topics as it names them, and the stream's checkpoint there."""

    servers: str
    source: str
    target: str
    pattern: str
    checkpoint: str


def main(path: str) -> None:
    """Run a stream in each place until it has copied what there is, then read in batches."""
    from spark.session import make_session

    places = {name: Place(**each) for name, each in json.loads(Path(path).read_text()).items()}
    session = make_session("streams", master="local[2]", kafka=True, tiny=True)
    try:
        streams = {name: _stream(session, place) for name, place in places.items()}
        for query in streams.values():
            query.awaitTermination()
        found = {
            name: {"copied": _copied(query), **_batches(session, places[name])}
            for name, query in streams.items()
        }
    finally:
        session.stop()
    print(json.dumps(found))


def write_plan(path: Path, places: Mapping[str, Place]) -> None:
    """Write the plan of a run."""
    path.write_text(json.dumps({name: asdict(place) for name, place in places.items()}))


def _stream(session: SparkSession, place: Place) -> StreamingQuery:
    """Copy upper-cased values to the target, two offsets of a partition a batch at most."""
    source = (
        session.readStream.format("kafka")
        .option("kafka.bootstrap.servers", place.servers)
        .option("subscribe", place.source)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", 4)
        .option("includeHeaders", "true")
        .load()
    )
    return (
        source.selectExpr("key", "upper(CAST(value AS STRING)) AS value", "partition", "headers")
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", place.servers)
        .option("topic", place.target)
        .option("checkpointLocation", place.checkpoint)
        .trigger(availableNow=True)
        .start()
    )


def _copied(query: StreamingQuery) -> dict[str, int]:
    """The number of batches, and of records that they had read."""
    rows = [int(each["numInputRows"]) for each in query.recentProgress]
    return {
        "batches": sum(each > 0 for each in rows),
        "records": sum(rows),
    }


def _batches(session: SparkSession, place: Place) -> dict[str, Any]:
    """What batch queries read: from the beginning, between offsets, by partition, by pattern."""
    between = {
        "subscribe": place.source,
        "startingOffsets": json.dumps({place.source: {"0": 1, "1": -2}}),
        "endingOffsets": json.dumps({place.source: {"0": 3, "1": -1}}),
    }
    return {
        "target": _read(session, place, {"subscribe": place.target}),
        "between": _read(session, place, between),
        "assigned": _read(session, place, {"assign": json.dumps({place.source: [1]})}),
        "pattern": _read(session, place, {"subscribePattern": place.pattern}),
        "by time": _read(session, place, {"subscribe": place.source, "startingTimestamp": "0"}),
    }


def _read(session: SparkSession, place: Place, options: Mapping[str, str]) -> list[list[Any]]:
    frame: DataFrame = (
        session.read.format("kafka")
        .option("kafka.bootstrap.servers", place.servers)
        .options(**options)
        .load()
    )
    rows = frame.selectExpr("topic", "partition", "offset", "CAST(value AS STRING)").collect()
    return sorted([*row] for row in rows)


if __name__ == "__main__":
    main(sys.argv[1])
