"""Builds the wheels of this source tree: with the hot path compiled, and pure.

``python -m devkit.wheels DIR`` makes both, or only the pure wheel, and then prints why.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from devkit.build_backend import COMPILED, PURE, VARIABLE
from devkit.build_tree import CompileError, require_compiler
from devkit.paths import PROJECT_ROOT
from devkit.waiting import progress

FORMS: Final = (COMPILED, PURE)

_PIP: Final = ("pip", "wheel", "--disable-pip-version-check", "--no-deps")
_AS_IT_IS: Final = ("--no-build-isolation", "--no-index")


class WheelError(Exception):
    """A wheel could not be built; the message has pip's output."""


def build_wheel(form: str, directory: Path, *, isolated: bool = False) -> Path:
    """Build the wheel of a form in a directory, which is created; returns the wheel's path.

    It is built with the packages that are installed here or, if ``isolated``, with the packages
    that the build backend requires, which pip fetches, as for users. A wheel of the same name is
    replaced. Raises WheelError, or CompileError without a compiler.
    """
    if form == COMPILED:
        require_compiler()
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="making-", dir=directory) as temporary:
        options = [] if isolated else _AS_IT_IS
        where = ["--wheel-dir", temporary, str(PROJECT_ROOT)]
        with progress(f"building the {form} wheel"):
            done = subprocess.run(
                [sys.executable, "-m", *_PIP, *options, *where],
                env={**env, VARIABLE: form},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
        if done.returncode:
            raise WheelError(f"the {form} wheel could not be built:\n{done.stdout}")
        (made,) = Path(temporary).glob("*.whl")
        return made.replace(directory / made.name)


def _main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m devkit.wheels",
        description="Make the compiled and the pure wheel; print their paths.",
    )
    parser.add_argument("directory", metavar="DIR", type=Path)
    directory: Path = parser.parse_args().directory
    try:
        try:
            print(build_wheel(COMPILED, directory))
        except CompileError as error:
            print(f"no compiled wheel: {error}", file=sys.stderr)
        print(build_wheel(PURE, directory))
    except WheelError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_main())
