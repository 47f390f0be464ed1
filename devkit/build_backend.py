"""The build backend (PEP 517, PEP 660): setuptools, with the hot path compiled if possible.

``pip install .``, ``pip wheel .`` and similar commands make a wheel with the hot path compiled by
mypyc if there are a C compiler and Python's headers, else a pure wheel.
``KAFKA_GATEWAY_BUILD=pure`` or ``compiled`` chooses; ``compiled`` fails if compiling is not
possible. An editable install is always pure. A wheel is built in a copy, so that the source tree
stays as it is.

When this module runs, only setuptools is installed.
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
    """The packages to install besides setuptools; empty for the pure form.

    Compiling needs mypy, and the packages that the gateway imports, because walkers are generated
    from kio's message classes, and mypyc compiles by the types of the others. Their versions are
    pinned by the lock files. Raises CompileError.
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
    """Build the wheel in a directory; returns its file name. Raises CompileError."""
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
    """Print that the hot path is compiled, how long it has taken so far, and, at the start and if
    it fails, how to build the pure form instead. Prints nothing for the pure form, which is built
    quickly."""
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
    """Print a line so that the user sees it: pip captures a build's output, and shows it only if
    the build fails, or with -v, so the line is also written to the terminal."""
    line = f"kafka-gateway: {text}"
    print(line, file=sys.stderr, flush=True)
    if not sys.stderr.isatty():
        with suppress(OSError), _TERMINAL.open("a") as terminal:
            terminal.write(f"\n{line}\n")


def _form() -> tuple[str, str]:
    """The form to build, and, if it is pure without being chosen, the reason.

    Raises CompileError if ``KAFKA_GATEWAY_BUILD`` is ``compiled`` and compiling is not possible, or
    if it is neither form.
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
