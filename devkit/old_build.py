"""The packages of the gateway in an earlier revision of the repository."""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Final

from devkit.paths import PROJECT_ROOT, cache_dir, one_at_a_time

PACKAGES: Final = ("gateway", "protocol", "spark")


class OldBuildError(Exception):
    """The repository, or the revision, does not exist."""


def old_build(revision: str, repository: Path = PROJECT_ROOT) -> Path:
    """A folder with the packages of a revision, for ``PYTHONPATH``. They are in the pure form.
    Raises OldBuildError."""
    commit = _git(repository, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    home = cache_dir() / "builds" / commit.decode().strip()
    with one_at_a_time("builds"):
        if not home.is_dir():
            home.parent.mkdir(parents=True, exist_ok=True)
            archive = _git(repository, "archive", "--format=tar", revision, *PACKAGES)
            with tempfile.TemporaryDirectory(dir=home.parent) as directory:
                unpacked = Path(directory) / "unpacked"
                with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
                    tar.extractall(unpacked, filter="data")
                # Renamed when complete: a folder of this name is not checked again.
                unpacked.rename(home)
    return home


def _git(repository: Path, *arguments: str) -> bytes:
    ended = subprocess.run(
        ["git", "-C", str(repository), *arguments], capture_output=True, check=False
    )
    if ended.returncode != 0:
        said = ended.stderr.decode(errors="replace").strip()
        raise OldBuildError(
            f"git {' '.join(arguments)} ended with status {ended.returncode} in {repository}: "
            f"{said or 'there is no such revision'}; a shallow clone gets the others by "
            "git fetch --unshallow"
        )
    return ended.stdout


if __name__ == "__main__":
    try:
        print(old_build(sys.argv[1]))
    except OldBuildError as error:
        sys.exit(str(error))
