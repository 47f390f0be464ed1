"""The jars of Spark's Kafka connector in a directory of their own, for the jobs of ``spark/``.

``python -m devkit.spark_jars`` fetches missing jars and prints the directory, which the jobs read
from the environment variable ``KAFKA_GATEWAY_SPARK_JARS``.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from devkit.maven import MavenError, jars
from devkit.paths import cache_dir, one_at_a_time

JAR_SET = "spark-kafka"


def spark_jars() -> Path:
    """The directory, with exactly the jars of the lock file; only one process at a time fills it.
    Raises MavenError."""
    directory = cache_dir() / JAR_SET
    wanted = {path.name: path for path in jars(JAR_SET)}
    directory.mkdir(exist_ok=True)
    with one_at_a_time(JAR_SET):
        _fill(directory, wanted)
    return directory


def _fill(directory: Path, wanted: Mapping[str, Path]) -> None:
    for name, path in wanted.items():
        target = directory / name
        if not target.is_file() or target.stat().st_size != path.stat().st_size:
            unfinished = target.with_suffix(".unfinished")
            shutil.copyfile(path, unfinished)
            unfinished.replace(target)
    for other in directory.iterdir():
        if other.name not in wanted:
            other.unlink()


def main() -> int:
    """Print the directory; returns the exit status."""
    try:
        print(spark_jars())
    except MavenError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
