"""A Python environment with the packages of the gateway's users, and no developers' tools.

An installed package changes the imports of others: kio registers with hypothesis if it finds it.
Measurements must be of an environment like the users'.
"""

from __future__ import annotations

import hashlib
import re
import sys
import tempfile
import venv
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

from devkit.paths import PROJECT_ROOT, cache_dir, one_at_a_time

_PINNED: Final = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)", re.MULTILINE)
_PROJECT: Final = "kafka-namespace-gateway"


class RuntimeEnvironmentError(Exception):
    """The environment cannot be made here; the message says why."""


def runtime_python(lock: Path = PROJECT_ROOT / "requirements" / "runtime.txt") -> Path:
    """The interpreter of an environment with the packages of ``lock`` and the gateway's metadata.

    The packages are symbolic links to this environment's own; the gateway's sources come by
    ``PYTHONPATH``. Made once for each lock. Raises RuntimeEnvironmentError if a package is not
    installed here in the lock's version.
    """
    text = lock.read_text()
    identity = f"{sys.executable} {sys.version} {text}"
    digest = hashlib.sha256(identity.encode()).hexdigest()[:16]
    path = cache_dir() / "runtime-environments" / digest
    with one_at_a_time("runtime-environments"):
        if not path.is_dir():
            links = [link for name, pin in _PINNED.findall(text) for link in _links(name, pin)]
            _make(path, [*links, *_metadata(_PROJECT)])
    return path / "bin" / "python"


def _make(path: Path, links: list[Path]) -> None:
    path.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="making-", dir=path.parent) as temporary:
        made = Path(temporary) / "environment"
        venv.create(made, symlinks=True)
        (packages,) = made.glob("lib/python*/site-packages")
        for link in links:
            (packages / link.name).symlink_to(link)
        made.rename(path)


def _links(name: str, pin: str) -> list[Path]:
    """The entries of a package in site-packages."""
    try:
        found = distribution(name)
    except PackageNotFoundError:
        raise RuntimeEnvironmentError(f"{name} is not installed: run make") from None
    if found.version != pin:
        raise RuntimeEnvironmentError(f"{name} is {found.version}, the lock has {pin}: run make")
    tops = {file.parts[0] for file in found.files or () if file.parts[0] not in ("..", "")}
    return [Path(str(found.locate_file(top))) for top in sorted(tops - {"__pycache__"})]


def _metadata(name: str) -> list[Path]:
    """The directory with a project's version, without the entries that would find its sources."""
    return [
        link for link in _links(name, distribution(name).version) if link.suffix == ".dist-info"
    ]
