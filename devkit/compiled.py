"""The gateway with its hot path compiled by mypyc: half the CPU a request, the same sources.

``python -m devkit.compiled`` copies ``gateway/`` and ``protocol/`` into ``.cache/compiled/`` and
compiles the modules of :data:`MODULES` there; nothing is written into the source tree. A build's
directory is named by the digest of all that goes into it, so that edited sources are never
shadowed by what was compiled from older ones. Put the directory first on ``PYTHONPATH`` to run it.
The pure form is the reference: the same tests hold for both. ``--wheel DIR`` makes a wheel instead.

It needs a C compiler and Python's headers.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

from devkit.compiled_walkers import prebuilt_source
from devkit.paths import PROJECT_ROOT, cache_dir
from devkit.waiting import progress

MODULES: Final = {
    "protocol/errors.py": "raised and caught by all that follow",
    "protocol/primitives.py": "lengths: every name that is spliced, and rare forms of a field",
    "protocol/prebuilt.py": "the walkers of Produce and Fetch, generated for the build",
    "protocol/splice.py": "several names in one body",
    "protocol/records.py": "the batch header of every partition produced",
    "protocol/headers.py": "where a body begins",
    "gateway/decision.py": "what every name resolves to",
    "gateway/flows.py": "the counts of every request",
    "gateway/exchanges/meter.py": "adds to them",
    "gateway/exchanges/framing.py": "cuts the stream and writes the frames",
    "gateway/exchanges/exchange.py": "one for each request",
    "gateway/exchanges/formats.py": "what plans are made of",
    "gateway/views/names_of_view.py": "the base of views",
    "gateway/views/view.py": "resolves every name",
    "gateway/exchanges/state.py": "finds every flow",
    "gateway/exchanges/fetch_stream.py": "walks every Fetch response that arrives in pieces",
    "gateway/exchanges/numbered_stream.py": "the same in a tree; it is a subclass",
    "gateway/exchanges/fetched.py": "counts what they bring",
    "gateway/views/closed_view.py": "a view that decides nothing",
    "gateway/views/access.py": "what every name may be used for",
    "gateway/views/authorized_access.py": "the same where an authorizer decides",
    "gateway/rules/rename.py": "every span of every other API, and of Fetch",
    "gateway/rules/restore.py": "the same for responses",
    "gateway/apis/counting.py": "finds the flow of each request",
    "gateway/apis/generic.py": "every API without a handler of its own",
    "gateway/apis/records/produce.py": "every Produce",
    "gateway/apis/records/producer_guarantee.py": "counts every Produce",
    "gateway/apis/records/fetch.py": "every Fetch",
    "gateway/apis/table.py": "the plans by key",
    "gateway/session/in_flight.py": "what is between the two",
    "gateway/session/requests.py": "the loop over what clients send",
    "gateway/session/responses.py": "the loop over what brokers send",
    "gateway/session/session.py": "what calls both",
}
"""What is compiled, and what each request needs of it. The rest stays as it is: the connection
because the event loop calls it through asyncio's classes, the cold path because it would gain
nothing."""

_PACKAGES: Final = ("gateway", "protocol")
_PREBUILT: Final = "protocol/prebuilt.py"

_SETUP: Final = """\
from mypyc.build import mypycify
from setuptools import setup

OPTIONS = ["--follow-imports=silent", "--ignore-missing-imports", "--cache-dir={mypy_cache}"]
MODULES = {modules}
setup(ext_modules=mypycify(OPTIONS + MODULES, opt_level="1", debug_level="0"))
"""


class CompileError(Exception):
    """The gateway cannot be compiled here; the message says why."""


def compiled_path() -> Path:
    """The directory of the compiled build of the present sources, built now if there is none.

    Raises CompileError if there is no compiler or the compiler fails.
    """
    require_compiler()
    builds = cache_dir() / "compiled"
    builds.mkdir(exist_ok=True)
    sources = _sources()
    path = builds / _digest(sources)
    if path.is_dir():
        return path
    with tempfile.TemporaryDirectory(prefix="building-", dir=builds) as temporary:
        directory = Path(temporary) / "build"
        _write(directory, sources, builds / "mypy-cache")
        command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
        _run(command, directory, "compiling the hot path")
        shutil.rmtree(directory / "build")
        try:
            directory.rename(path)
        except OSError:
            if not path.is_dir():  # else another process was faster
                raise
    return path


def build_wheel(destination: Path) -> None:
    """Make a wheel with the compiled modules in ``destination``. Raises CompileError."""
    require_compiler()
    with tempfile.TemporaryDirectory(prefix="kafka-gateway-wheel-") as temporary:
        directory = Path(temporary) / "build"
        _write(directory, _sources(), Path(temporary) / "mypy-cache")
        shutil.copy(PROJECT_ROOT / "pyproject.toml", directory)
        options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet"]
        where = ["--wheel-dir", str(destination.resolve()), "."]
        command = [sys.executable, "-m", "pip", "wheel", *options, *where]
        _run(command, directory, "building the wheel")


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


def _sources() -> dict[str, bytes]:
    """The build's sources by path: the packages' own, and the walkers that are compiled ahead."""
    files = (file for package in _PACKAGES for file in (PROJECT_ROOT / package).rglob("*.py"))
    sources = {file.relative_to(PROJECT_ROOT).as_posix(): file.read_bytes() for file in files}
    sources[_PREBUILT] = prebuilt_source().encode()
    return sources


def _digest(sources: dict[str, bytes]) -> str:
    """The digest of sources, interpreter, compilers and the list of modules."""
    digest = hashlib.sha256()
    compiler = os.environ.get("CC", "")
    for part in (sys.version, sysconfig.get_platform(), version("mypy"), compiler, _SETUP):
        digest.update(f"{part}\0".encode())
    for name in MODULES:
        digest.update(f"{name}\0".encode())
    for name, source in sorted(sources.items()):
        digest.update(f"{name}\0{len(source)}\0".encode() + source)
    return digest.hexdigest()[:20]


def _write(directory: Path, sources: dict[str, bytes], mypy_cache: Path) -> None:
    for name, source in sources.items():
        file = directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(source)
    setup = _SETUP.format(mypy_cache=mypy_cache, modules=list(MODULES))
    (directory / "setup.py").write_text(setup)


def _run(command: Sequence[str], directory: Path, what: str) -> None:
    # Neither a type checker's configuration nor another copy of the sources shall get in.
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
    parser = argparse.ArgumentParser(
        prog="python -m devkit.compiled",
        description="Compile the hot path; print the directory for PYTHONPATH.",
    )
    parser.add_argument("--wheel", metavar="DIR", type=Path, help="make a wheel in DIR instead")
    arguments = parser.parse_args()
    try:
        if arguments.wheel is not None:
            build_wheel(arguments.wheel)
        else:
            print(compiled_path())
    except CompileError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_main())
