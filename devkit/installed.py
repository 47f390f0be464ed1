"""Environments into which a wheel of this source tree is installed, as users install it.

Each holds the packages of ``requirements/runtime.txt`` and the wheel, nothing else: no pip, no
package of developers, and not these sources. ``python -m devkit.installed compiled`` prints the
command ``kafka-gateway`` of such an environment.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from devkit import build_tree
from devkit.build_tree import CompileError
from devkit.paths import PROJECT_ROOT, cache_dir, one_at_a_time
from devkit.waiting import progress
from devkit.wheels import FORMS, WheelError, build_wheel

_LOCK: Final = PROJECT_ROOT / "requirements" / "runtime.txt"
_PACKAGES: Final = ("gateway", "protocol", "spark")
_BUILD: Final = ("devkit/build_backend.py", "devkit/build_tree.py", "devkit/compiled_walkers.py")
_KEPT_SECONDS: Final = 86_400.0
_DONE: Final = "installed"


class InstallError(Exception):
    """The environment could not be made; the message has pip's output."""


def installed_command(form: str) -> Path:
    """The ``kafka-gateway`` of the environment with the wheel of a form, made now if it is missing.

    pip builds the wheel in isolation, with the packages that the build backend requires, so pip may
    download. Raises InstallError, WheelError, or CompileError without a compiler.
    """
    environments = cache_dir() / "installed"
    environments.mkdir(exist_ok=True)
    with one_at_a_time("installed"):
        _forget_old(environments)
        path = environments / f"{form}-{_digest()}"
        if not (path / _DONE).is_file():
            shutil.rmtree(path, ignore_errors=True)
            with tempfile.TemporaryDirectory(prefix="kafka-gateway-installed-") as temporary:
                wheel = build_wheel(form, Path(temporary), isolated=True)
                _install(path, form, wheel)
        (path / _DONE).touch()
    return path / "bin" / "kafka-gateway"


def _install(path: Path, form: str, wheel: Path) -> None:
    venv.create(path, symlinks=True)
    with progress(f"installing the {form} wheel"):
        _pip(path, "--require-hashes", "-r", str(_LOCK))
        _pip(path, "--no-deps", "--no-index", str(wheel))


def _pip(path: Path, *what: str) -> None:
    """Install into an environment that has no pip of its own. Raises InstallError."""
    pip = [sys.executable, "-m", "pip", "--python", str(path / "bin" / "python")]
    options = ["install", "--disable-pip-version-check", "--quiet"]
    _run([*pip, *options, *what], f"pip install {' '.join(what)}")


def _run(command: Sequence[str], what: str) -> None:
    """Run a command that must not import these sources. Raises InstallError."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode:
        raise InstallError(f"{what} failed:\n{done.stdout}")


def _digest() -> str:
    """The digest of all inputs of an environment."""
    files = build_tree.sources(_PACKAGES)
    for name in (*_BUILD, "pyproject.toml", "requirements/runtime.txt", "requirements/dev.txt"):
        files[name] = (PROJECT_ROOT / name).read_bytes()
    digest = hashlib.sha256(f"{sys.executable} {sys.version} {os.environ.get('CC')}".encode())
    for name, content in sorted(files.items()):
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:16]


def _forget_old(environments: Path) -> None:
    """Remove environments that were not used since yesterday, because each takes 100 MB."""
    for path in environments.iterdir():
        used = path / _DONE
        newest = used.stat().st_mtime if used.is_file() else path.stat().st_mtime
        if time.time() - newest > _KEPT_SECONDS:
            shutil.rmtree(path)


def _main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m devkit.installed",
        description="Install the wheel of a form into an empty environment; print its command.",
    )
    parser.add_argument("form", choices=FORMS)
    try:
        print(installed_command(parser.parse_args().form))
    except (CompileError, InstallError, WheelError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_main())
