"""Fetches Java archives from Maven Central, pinned by hash, without Maven or Java.

A set of archives is a lock file ``jars/NAME.lock``: the coordinates from which it was resolved,
then a line ``group:artifact:version sha256`` for each archive. ``python -m devkit.maven`` resolves
every set anew with jgo, a resolver in Python, and writes the lock files; ``jars(name)`` fetches the
archives of a lock file. Then nothing is resolved, and an archive of another hash is not used.
"""

from __future__ import annotations

import gc
import hashlib
import logging
import sys
import tarfile
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import truststore

from devkit.paths import cache_dir, one_at_a_time
from devkit.waiting import Progress, progress

if TYPE_CHECKING:
    from jgo.maven import MavenContext

LOCK_DIR = Path(__file__).parent / "jars"

# The coordinates from which each set is resolved. A broker's log needs slf4j-simple.
ENDPOINTS = {
    "kafka": (
        "org.apache.kafka:kafka_2.13:4.3.1",
        "org.apache.kafka:kafka-tools:4.3.1",
        "org.slf4j:slf4j-simple:1.7.36",
    ),
    # The last Kafka that serves CreateTopics v0 and v1.
    "kafka-3.9": (
        "org.apache.kafka:kafka_2.13:3.9.1",
        "org.slf4j:slf4j-simple:1.7.36",
    ),
    # MirrorMaker 2 and all that Kafka Connect needs, without a broker.
    "mirror-maker": (
        "org.apache.kafka:connect-mirror:4.3.1",
        "org.slf4j:slf4j-simple:1.7.36",
    ),
    # The last ReplicationPolicy before KIP-1074.
    "mirror-client-3.9": (
        "org.apache.kafka:connect-mirror-client:3.9.1",
        "org.slf4j:slf4j-simple:1.7.36",
    ),
    # Clients of old versions: the first that a broker of Kafka 4 serves, and the last of 2 and 3.
    **{
        f"clients-{version}": (
            f"org.apache.kafka:kafka-clients:{version}",
            "org.slf4j:slf4j-simple:1.7.36",
        )
        for version in ("2.1.1", "2.8.2", "3.9.1")
    },
    # Kafka Streams, with stores in memory alone.
    "streams": (
        "org.apache.kafka:kafka-streams:4.3.1",
        "org.slf4j:slf4j-simple:1.7.36",
    ),
    "ecj": ("org.eclipse.jdt:ecj:3.44.0",),
    # Makes brokers slow in one place (devkit/lagging.py).
    "byteman": ("org.jboss.byteman:byteman:4.0.26",),
    # The version of pyspark in pyproject.toml.
    "spark-kafka": ("org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0",),
}

# Left out of a set, because the program that loads the set has these archives itself, and another
# version would conflict. RocksDB (70 MB) is here because Streams loads it only for persistent
# stores.
PROVIDED = {
    "streams": frozenset({"org.rocksdb:rocksdbjni"}),
    "spark-kafka": frozenset(
        {
            "com.google.code.findbugs:jsr305",
            "org.apache.hadoop:hadoop-client-api",
            "org.apache.hadoop:hadoop-client-runtime",
            "org.apache.spark:spark-tags_2.13",
            "org.lz4:lz4-java",
            "org.scala-lang.modules:scala-parallel-collections_2.13",
            "org.scala-lang:scala-library",
            "org.slf4j:slf4j-api",
            "org.xerial.snappy:snappy-java",
        }
    ),
}

_TRIES = 4
_THREADS = 8
_TIMEOUT_SECONDS = 30


class MavenError(Exception):
    """An archive could not be fetched, or does not have the lock file's hash."""


@dataclass(frozen=True, slots=True)
class Jar:
    """A line of a lock file."""

    group: str
    artifact: str
    version: str
    sha256: str

    @property
    def coordinate(self) -> str:
        """``group:artifact:version``."""
        return f"{self.group}:{self.artifact}:{self.version}"

    @property
    def path(self) -> Path:
        """The path of the archive, which may not exist yet, in the layout of a Maven repository."""
        folder = _repository() / self.group.replace(".", "/") / self.artifact / self.version
        return folder / f"{self.artifact}-{self.version}.jar"

    def is_here(self) -> bool:
        """Whether the archive exists and has the hash of the lock file."""
        return self.path.is_file() and _sha256(self.path) == self.sha256


@cache
def jars(name: str) -> tuple[Path, ...]:
    """The archives of the set ``name``, in class path order, fetched if they are missing.

    Prints the download's progress to stderr. Raises MavenError.
    """
    wanted = read_lock(LOCK_DIR / f"{name}.lock")
    with one_at_a_time("maven"):
        missing = [jar for jar in wanted if not jar.is_here()]
        if missing:
            with _left_open():
                _fetch_all(missing)
    return tuple(jar.path for jar in wanted)


def read_lock(path: Path) -> list[Jar]:
    """The archives in a lock file. Raises MavenError if it cannot be read."""
    try:
        lines = path.read_text().splitlines()
        rows = [line.split() for line in lines if line and not line.startswith("#")]
        parts = [(*coordinate.split(":"), sha256) for coordinate, sha256 in rows]
        return [Jar(group, artifact, version, sha256) for group, artifact, version, sha256 in parts]
    except (OSError, ValueError) as error:
        raise MavenError(f"{path}: no lock file of archives: {error}") from error


def _repository() -> Path:
    return cache_dir() / "maven"


def _sha256(path: Path) -> str:
    with path.open("rb") as archive:
        return hashlib.file_digest(archive, "sha256").hexdigest()


@contextmanager
def _certificates_of_the_system() -> Iterator[None]:
    # requests has its own list of authorities, which lacks that of a company's proxy.
    truststore.inject_into_ssl()
    try:
        yield
    finally:
        truststore.extract_from_ssl()


@contextmanager
def _left_open() -> Iterator[None]:
    """Collect sockets that jgo leaves open, without a warning; else the garbage collector warns of
    them in a later test, which then fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        try:
            yield
        finally:
            gc.collect()


def _fetch_all(missing: Sequence[Jar]) -> None:
    context = _context()
    with (
        _certificates_of_the_system(),
        progress("fetching Java archives from Maven Central") as state,
        ThreadPoolExecutor(_THREADS) as pool,
    ):
        state.detail = f"0 of {len(missing)}"
        fetches = [pool.submit(_fetch, context, jar) for jar in missing]
        try:
            _await_all(fetches, state)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _await_all(fetches: Sequence[Future[int]], state: Progress) -> None:
    size = 0
    for done, fetch in enumerate(as_completed(fetches), 1):
        size += fetch.result()
        state.detail = f"{done} of {len(fetches)}, {size / 1e6:.0f} MB"


def _fetch(context: MavenContext, jar: Jar) -> int:
    """Fetch an archive; returns its size in bytes."""
    import requests

    problem = ""
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(2**attempt)
        # jgo keeps an incomplete file, and takes any file that it finds for complete.
        jar.path.unlink(missing_ok=True)
        try:
            context.create_dependency(jar.coordinate).artifact.resolve()
        except (OSError, RuntimeError, requests.RequestException) as error:
            problem = str(error)
            continue
        if jar.is_here():
            return jar.path.stat().st_size
        problem = f"its SHA-256 is {_sha256(jar.path)}, the lock file says {jar.sha256}"
        jar.path.unlink()
    raise MavenError(f"{jar.coordinate}: not fetched in {_TRIES} tries: {problem}")


def unpacked(archive: Jar, classifier: str) -> Path:
    """The directory of an unpacked ``.tar.gz`` of a project, fetched if it is missing.

    Raises MavenError if it cannot be fetched, or has another hash.
    """
    import requests

    target = _repository() / "unpacked" / archive.sha256[:16]
    with one_at_a_time("maven"):
        if not target.is_dir():
            target.parent.mkdir(exist_ok=True, parents=True)
            project = _context().project(archive.group, archive.artifact)
            with (
                _left_open(),
                _certificates_of_the_system(),
                progress(f"fetching {archive.coordinate} from Maven Central"),
            ):
                found = project.at_version(archive.version).artifact(classifier, "tar.gz")
                try:
                    path = found.resolve()
                except (OSError, RuntimeError, requests.RequestException) as error:
                    raise MavenError(f"{archive.coordinate}: not fetched: {error}") from error
            if _sha256(path) != archive.sha256:
                path.unlink()
                raise MavenError(f"{archive.coordinate}: it has another SHA-256")
            with tempfile.TemporaryDirectory(dir=target.parent) as temporary:
                made = Path(temporary, "made")
                with tarfile.open(path) as packed:
                    packed.extractall(made, filter="data")
                # Renamed when complete: a directory of this name is not checked again.
                made.rename(target)
            path.unlink()
    return target


def _context() -> MavenContext:
    from jgo.maven import MavenContext

    # jgo only warns if a hash differs; here a wrong hash is an error of its own.
    logging.getLogger("jgo").setLevel(logging.ERROR)
    return MavenContext(repo_cache=_repository(), timeout=_TIMEOUT_SECONDS)


def resolve(endpoints: Sequence[str]) -> list[Jar]:
    """Resolve coordinates and all their dependencies at run time, and fetch them."""
    context = _context()
    inputs, needed = context.resolver.resolve([context.create_dependency(e) for e in endpoints])
    found = [*inputs, *(dep for dep in needed if dep.scope in ("compile", "runtime"))]
    resolved = []
    for dep in found:
        if dep.type != "jar" or dep.classifier:
            raise MavenError(f"{dep}: a lock file holds plain archives only")
        path = dep.artifact.resolve()
        resolved.append(Jar(dep.groupId, dep.artifactId, dep.version, _sha256(path)))
    return resolved


def write_lock(path: Path, endpoints: Sequence[str], resolved: Sequence[Jar]) -> None:
    """Write the resolved archives to a lock file."""
    head = ["# Resolved by `make lock` (python -m devkit.maven) from:"]
    head += [f"#   {endpoint}" for endpoint in endpoints]
    rows = [f"{jar.coordinate} {jar.sha256}" for jar in resolved]
    path.write_text("\n".join([*head, *rows]) + "\n")


def main() -> None:
    """Resolve every set anew and write its lock file."""
    for name, endpoints in ENDPOINTS.items():
        path = LOCK_DIR / f"{name}.lock"
        with _certificates_of_the_system(), progress(f"resolving {name}"):
            found = resolve(endpoints)
        provided = PROVIDED.get(name, frozenset())
        resolved = [jar for jar in found if f"{jar.group}:{jar.artifact}" not in provided]
        write_lock(path, endpoints, resolved)
        print(f"{path}: {len(resolved)} archives", file=sys.stderr)


if __name__ == "__main__":
    main()
