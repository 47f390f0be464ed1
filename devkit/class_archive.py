"""The class data of a broker, archived for its later starts (JEP 350), which take a third less.

``python -m devkit.class_archive`` makes the archive, unless there is an archive for this Java and
this Kafka.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from devkit.java import find_java
from devkit.maven import jars
from devkit.paths import cache_dir, one_at_a_time


def class_archive(jar_set: str) -> Path:
    """The path of the archive for this Java and this Kafka's jars; it may not exist yet."""
    java = Path(find_java()).resolve()
    parts = [str(java), str(java.stat().st_mtime_ns), *map(str, jars(jar_set))]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    return cache_dir() / "class-archives" / f"{jar_set}-{digest}.jsa"


def archive_options(jar_set: str) -> tuple[str, ...]:
    """The options with which a Java uses the archive; empty if there is no archive."""
    path = class_archive(jar_set)
    return (f"-XX:SharedArchiveFile={path}", "-Xlog:cds=off") if path.is_file() else ()


def main() -> None:
    """Run a broker that writes the archive when it ends, unless the archive exists; other callers
    wait for it meanwhile."""
    path = class_archive("kafka")
    path.parent.mkdir(parents=True, exist_ok=True)
    with one_at_a_time("class-archive"):
        if not path.is_file():
            _write(path)


def _write(path: Path) -> None:
    from devkit.broker import KafkaCluster  # it calls ``archive_options``

    unfinished = path.with_suffix(".unfinished")
    with KafkaCluster(archive_classes=unfinished) as cluster:
        cluster.stop_broker(1)
    if unfinished.is_file():  # a Java without class data sharing writes no archive
        unfinished.rename(path)


if __name__ == "__main__":
    main()
