"""The gateway with its hot path compiled by mypyc: half the CPU time per request, the same sources.

``python -m devkit.compiled`` copies ``gateway/`` and ``protocol/`` into ``.cache/compiled/`` and
compiles the hot path (``gateway/hot_path.py``) there; nothing is written into the source tree. A
build's directory is named by the digest of all its inputs, so that modules compiled from older
sources never shadow edited sources. Put the directory first on ``PYTHONPATH`` to run it. The pure
form is the reference: the same tests hold for both. ``devkit.wheels`` makes wheels.

Compiling needs a C compiler and Python's headers.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

from devkit import build_tree
from devkit.build_tree import CompileError, require_compiler
from devkit.paths import cache_dir
from devkit.waiting import progress

_PACKAGES: Final = ("gateway", "protocol")


def compiled_path() -> Path:
    """The directory of the compiled build of the present sources, built now if it is missing.

    Raises CompileError if there is no compiler or the compiler fails.
    """
    require_compiler()
    builds = cache_dir() / "compiled"
    builds.mkdir(exist_ok=True)
    sources = build_tree.compiled_sources(_PACKAGES)
    path = builds / _digest(sources)
    if path.is_dir():
        return path
    with tempfile.TemporaryDirectory(prefix="building-", dir=builds) as temporary:
        directory = Path(temporary) / "build"
        build_tree.write(directory, sources)
        build_tree.write(directory, build_tree.setup_file(builds / "mypy-cache"))
        command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
        _run(command, directory, "compiling the hot path")
        shutil.rmtree(directory / "build")
        try:
            directory.rename(path)
        except OSError:
            if not path.is_dir():  # else another process was faster
                raise
    return path


def _digest(sources: Mapping[str, bytes]) -> str:
    """The digest of sources, interpreter, compilers and the list of modules."""
    digest = hashlib.sha256()
    compiler = os.environ.get("CC", "")
    parts = (sys.version, sysconfig.get_platform(), version("mypy"), compiler, build_tree.SETUP)
    for part in (*parts, *build_tree.module_files()):
        digest.update(f"{part}\0".encode())
    for name, source in sorted(sources.items()):
        digest.update(f"{name}\0{len(source)}\0".encode() + source)
    return digest.hexdigest()[:20]


def _run(command: Sequence[str], directory: Path, what: str) -> None:
    # PYTHONPATH is removed: it may name another copy of the sources.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with progress(what):
        done = subprocess.run(
            command,
            cwd=directory,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    if done.returncode:
        raise CompileError(f"{what} failed:\n{done.stdout}")


def _main() -> int:
    try:
        print(compiled_path())
    except CompileError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_main())
