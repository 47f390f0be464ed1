"""The directory in which the compiled form is built: copied sources, walkers, and a ``setup.py``.

The build backend (``build_backend.py``) builds in it, so this module imports nothing that has to be
installed; only :func:`compiled_sources` needs the packages that the gateway needs.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from devkit.paths import PROJECT_ROOT
from gateway.hot_path import MODULES

_PREBUILT: Final = "protocol/prebuilt.py"

# No configuration of a type checker: neither the project's own nor the user's.
SETUP: Final = """\
from mypyc.build import mypycify
from setuptools import setup

OPTIONS = ["--follow-imports=silent", "--ignore-missing-imports", "--cache-dir={mypy_cache}"]
OPTIONS += ["--config-file="]
MODULES = {modules}
setup(ext_modules=mypycify(OPTIONS + MODULES, opt_level="3", debug_level="0"))
"""


class CompileError(Exception):
    """The gateway cannot be compiled here; the message says why."""


def require_compiler() -> None:
    """Raise CompileError unless there are a C compiler and Python's headers."""
    compiler = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    program = shlex.split(compiler)[0]
    if shutil.which(program) is None:
        raise CompileError(
            f"no C compiler: {program} is not on PATH; install one, or name it in CC"
        )
    header = Path(sysconfig.get_path("include")) / "Python.h"
    if not header.is_file():
        raise CompileError(f"no Python headers: {header} is missing; install Python's dev package")


def module_files() -> list[str]:
    """The files of the hot path, by their paths from the project's root."""
    return [name.replace(".", "/") + ".py" for name in MODULES]


def sources(packages: Sequence[str]) -> dict[str, bytes]:
    """The files of these packages by path, without caches and compiled modules."""
    found = {}
    for package in packages:
        for file in sorted((PROJECT_ROOT / package).rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts and file.suffix != ".so":
                found[file.relative_to(PROJECT_ROOT).as_posix()] = file.read_bytes()
    return found


def compiled_sources(packages: Sequence[str]) -> dict[str, bytes]:
    """:func:`sources`, with the walkers of Produce and Fetch generated for the build."""
    # Imported here: it imports the gateway, which a pure build does not need.
    from devkit.compiled_walkers import prebuilt_source

    return {**sources(packages), _PREBUILT: prebuilt_source().encode()}


def write(directory: Path, files: Mapping[str, bytes]) -> None:
    """Write files by their paths into a directory, which is created."""
    for name, content in files.items():
        file = directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def setup_file(mypy_cache: Path) -> dict[str, bytes]:
    """The ``setup.py`` that compiles the hot path of its directory."""
    text = SETUP.format(mypy_cache=mypy_cache, modules=module_files())
    return {"setup.py": text.encode()}
