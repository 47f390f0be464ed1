"""One process of the Spark bench: make a table, or run all jobs over one. Prints one line of JSON.

``python -m bench.spark_run make DIR COUNT`` and ``python -m bench.spark_run measure DIR``. The
driver, which runs the tasks too, has 2 GiB of heap: a job that needs more fails.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from bench.spark_records import spark_records
from spark import access, guarantees, latency, policies, replication, usage
from spark.arguments import Command, run
from spark.session import make_session
from spark.table import Table, row_schema

HEAP: Final = "2g"

COMMANDS: Final[tuple[Command, ...]] = (
    usage.COMMAND,
    latency.COMMAND,
    access.COMMAND,
    guarantees.COMMAND,
    policies.COMMAND,
    replication.COMMAND,
)

_SETTINGS: Final = {
    "spark.driver.memory": HEAP,
    # A file is open for each day and kind of a task; sorting wide records first takes longer.
    "spark.sql.maxConcurrentOutputFileWriters": "200",
    # What tasks took is read from the UI's own interface, on any port that is free.
    "spark.ui.enabled": "true",
    "spark.ui.port": "0",
    "spark.executor.heartbeatInterval": "1s",
    "spark.executor.metrics.pollingInterval": "200ms",
}


def main(arguments: Sequence[str]) -> int:
    """Make or measure; returns the exit status."""
    what, directory, *rest = arguments
    spark = make_session("bench", conf=_SETTINGS)
    try:
        made = make(spark, directory, int(rest[0])) if what == "make" else measure(spark, directory)
        print(json.dumps(made))
    finally:
        spark.stop()
    return 0


def make(spark: SparkSession, directory: str, count: int) -> dict[str, Any]:
    """Write a table as ``spark.ingest`` does, with so many records."""
    started = time.monotonic()
    table = Table(spark, directory)
    files = table.write(_rows(spark_records(spark, count)))
    table.commit(lambda now: replace(now, files=files))
    size = sum(file.size for file in files)
    return {"seconds": time.monotonic() - started, "bytes": size, "files": len(files)}


def measure(spark: SparkSession, directory: str) -> dict[str, Any]:
    """Run all jobs: seconds of each, its most skewed stage, and what memory the process took."""
    jobs: dict[str, Any] = {}
    seen: set[int] = set()
    for command in COMMANDS:
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as output:
            status = run(command, ["--input", directory, "--output", output, "--quiet"])
        if status:
            raise SystemExit(status)
        jobs[command.name] = {"seconds": time.monotonic() - started, "stages": []}
        jobs[command.name]["stages"] = list(_stages(spark, seen))
    return {"jobs": jobs, "heap_mib": _peak_heap_mib(spark), "rss_mib": _peak_rss_mib(spark)}


def _rows(records: DataFrame) -> DataFrame:
    """Flow records with the columns that a table's files have besides."""
    day = F.to_date(F.timestamp_millis("time_ms"))
    columns = {"late": F.lit(False), "date": day}
    for field in row_schema().fields:
        if field.name not in records.columns and field.name not in columns:
            columns[field.name] = F.lit(None).cast(field.dataType)
    return records.withColumns({k: v for k, v in columns.items() if k != "commit"})


def _stages(spark: SparkSession, seen: set[int]) -> Iterator[dict[str, float]]:
    """Stages that are not ``seen``: how many tasks, and what the median and the slowest took."""
    for stage in _ask(spark, "stages?status=complete"):
        number, attempt = stage["stageId"], stage["attemptId"]
        if number in seen:
            continue
        seen.add(number)
        found = _ask(spark, f"stages/{number}/{attempt}/taskSummary?quantiles=0.5,1.0")
        median, slowest = (one / 1_000 for one in found["executorRunTime"])
        yield {"tasks": stage["numTasks"], "median": median, "slowest": slowest}


def _peak_heap_mib(spark: SparkSession) -> float:
    found = _ask(spark, "allexecutors")
    peaks = [one.get("peakMemoryMetrics", {}).get("JVMHeapMemory", 0) for one in found]
    return float(max(peaks)) / 2**20


def _peak_rss_mib(spark: SparkSession) -> float:
    """The most that the JVM had resident, as Linux counts it."""
    jvm: Any = spark.sparkContext._jvm
    pid = jvm.java.lang.ProcessHandle.current().pid()
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0


def _ask(spark: SparkSession, what: str) -> Any:
    context = spark.sparkContext
    url = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/{what}"
    with urllib.request.urlopen(url, timeout=60) as answer:  # noqa: S310
        return json.load(answer)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
