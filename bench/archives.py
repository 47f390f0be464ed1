"""The Java archives of a peer, from Maven Central, pinned by hash.

A lock file holds ``group:artifact:version[:classifier] sha256`` line by line. Unlike the
development kit's, it may name archives with a classifier: Netty's native code is in such.
"""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path

import truststore

from devkit.paths import cache_dir
from devkit.waiting import progress

_TIMEOUT_SECONDS = 30


class ArchiveError(Exception):
    """An archive could not be fetched, or is not the one that the lock file names."""


def archives(lock: Path) -> list[Path]:
    """The archives that ``lock`` names, in class path order, fetched if they are missing.

    Raises ArchiveError.
    """
    rows = [line.split() for line in lock.read_text().splitlines() if not line.startswith("#")]
    locked = [(coordinate, sha256) for coordinate, sha256 in rows]
    with progress(f"fetching the Java archives of {lock.stem}") as state:
        paths = []
        for number, (coordinate, sha256) in enumerate(locked, 1):
            state.detail = f"{number} of {len(locked)}"
            paths.append(_archive(coordinate, sha256))
    return paths


def _archive(coordinate: str, sha256: str) -> Path:
    group, artifact, version, *classifier = coordinate.split(":")
    folder = cache_dir() / "maven" / group.replace(".", "/") / artifact / version
    path = folder / ("-".join([artifact, version, *classifier]) + ".jar")
    if not path.is_file():
        _fetch(coordinate)
    found = _sha256(path)
    if found != sha256:
        path.unlink()
        raise ArchiveError(f"{coordinate}: its SHA-256 is {found}, the lock file says {sha256}")
    return path


def _fetch(coordinate: str) -> None:
    import requests
    from jgo.maven import MavenContext

    # jgo warns of a hash that differs and goes on; here the hash decides.
    logging.getLogger("jgo").setLevel(logging.ERROR)
    context = MavenContext(repo_cache=cache_dir() / "maven", timeout=_TIMEOUT_SECONDS)
    # requests brings a list of certificates of its own, which knows no company's proxy.
    truststore.inject_into_ssl()
    try:
        context.create_dependency(coordinate).artifact.resolve()
    except (OSError, RuntimeError, requests.RequestException) as error:
        raise ArchiveError(f"{coordinate}: {error}") from error
    finally:
        truststore.extract_from_ssl()


def _sha256(path: Path) -> str:
    if not path.is_file():
        raise ArchiveError(f"{path.name} was not fetched")
    with path.open("rb") as archive:
        return hashlib.file_digest(archive, "sha256").hexdigest()
