"""The build backend (PEP 517, PEP 660): setuptools, with the hot path compiled where it can be.

``pip install .``, ``pip wheel .`` and their like make a wheel with the hot path compiled by mypyc
if there are a C compiler and Python's headers, else a pure one. ``KAFKA_GATEWAY_BUILD=pure`` or
``compiled`` chooses; ``compiled`` fails if it cannot be. An editable install is always pure. A
wheel is built in a copy, so that the source tree stays as it is.

This module runs where nothing but setuptools is installed yet.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from setuptools import build_meta
from setuptools.build_meta import (
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

from devkit import build_tree
from devkit.build_tree import CompileError, require_compiler
from devkit.paths import PROJECT_ROOT

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

VARIABLE: Final = "KAFKA_GATEWAY_BUILD"
"""The environment variable that chooses the form."""

COMPILED: Final = "compiled"
PURE: Final = "pure"

_CHOICE: Final = f"{VARIABLE}={PURE} makes the pure form, in seconds and without a compiler"
_INTERVAL: Final = 30.0
_TERMINAL: Final = Path("/dev/tty")

_PACKAGES: Final = ("gateway", "protocol", "spark")
_REQUIREMENTS: Final = PROJECT_ROOT / "requirements"
_PINNED: Final = re.compile(r"^([A-Za-z0-9._-]+==[^\s;\\]+)", re.MULTILINE)

Settings = Mapping[str, Any] | None


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    """What has to be installed besides setuptools: nothing for the pure form.

    To compile it takes mypy, and the packages that the gateway imports: walkers are generated from
    kio's message classes, and the types of the others are what mypyc compiles by. Their versions
    are those of the lock files. Raises CompileError.
    """
    needed = build_meta.get_requires_for_build_wheel(config_settings)
    if _form()[0] == PURE:
        return list(needed)
    (mypy,) = (pin for pin in _pins("dev.txt") if pin.startswith("mypy=="))
    return [*needed, mypy, *_pins("runtime.txt")]


def build_wheel(
    wheel_directory: str,
    config_settings: Settings = None,
    metadata_directory: str | None = None,
) -> str:
    """Build the wheel in a directory; returns its file's name. Raises CompileError."""
    destination = str(Path(wheel_directory).resolve())
    metadata = None if metadata_directory is None else str(Path(metadata_directory).resolve())
    chosen, reason = _form()
    if reason:
        _say(f"building the pure form, which is slower: {reason}")
    with tempfile.TemporaryDirectory(prefix="kafka-gateway-wheel-") as temporary:
        tree = Path(temporary) / "build"
        if chosen == COMPILED:
            build_tree.write(tree, build_tree.compiled_sources(_PACKAGES))
            build_tree.write(tree, build_tree.setup_file(Path(temporary) / "mypy-cache"))
        else:
            build_tree.write(tree, build_tree.sources(_PACKAGES))
        project = (PROJECT_ROOT / "pyproject.toml").read_bytes()
        build_tree.write(tree, {"pyproject.toml": project})
        with chdir(tree), _told(chosen):
            return str(build_meta.build_wheel(destination, config_settings, metadata))


@contextmanager
def _told(form: str) -> Iterator[None]:
    """Say that the hot path is compiled, how long that has taken, and what else could be done; at
    once and when it fails. The pure form takes no time worth a word."""
    if form != COMPILED:
        yield
        return
    _say(f"compiling the hot path, which takes minutes; {_CHOICE}")
    ended = threading.Event()

    def report() -> None:
        started = time.monotonic()
        while not ended.wait(_INTERVAL):
            _say(f"still compiling ({time.monotonic() - started:.0f} s so far)")

    reporting = threading.Thread(target=report, daemon=True)
    reporting.start()
    try:
        try:
            yield
        finally:
            ended.set()
            reporting.join()
    except KeyboardInterrupt:
        raise
    except BaseException:  # setuptools ends by SystemExit, too
        _say(f"the hot path was not compiled; {_CHOICE}")
        raise


def _say(text: str) -> None:
    """Print a line where somebody sees it: pip keeps what a build prints, and shows it only if the
    build fails, or with -v, so a terminal is written to directly."""
    line = f"kafka-gateway: {text}"
    print(line, file=sys.stderr, flush=True)
    if not sys.stderr.isatty():
        with suppress(OSError), _TERMINAL.open("a") as terminal:
            terminal.write(f"\n{line}\n")


def _form() -> tuple[str, str]:
    """The form that is built here, and why it is the pure one if nobody chose that.

    Raises CompileError if ``KAFKA_GATEWAY_BUILD`` is ``compiled`` and that cannot be, or is neither
    form.
    """
    chosen = os.environ.get(VARIABLE, "")
    if chosen not in ("", COMPILED, PURE):
        raise CompileError(f"{VARIABLE}={chosen}: it has to be {COMPILED} or {PURE}, or not set")
    if chosen == PURE:
        return PURE, ""
    try:
        require_compiler()
    except CompileError as error:
        if chosen == COMPILED:
            raise
        return PURE, str(error)
    return COMPILED, ""


def _pins(lock: str) -> list[str]:
    """``name==version`` of every package of a lock file."""
    return _PINNED.findall((_REQUIREMENTS / lock).read_text())
