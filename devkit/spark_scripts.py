"""Makes Spark's own commands, such as ``spark-submit``, work in an environment that pip has made.

``python -m devkit.spark_scripts``, which ``make spark`` runs, rewrites ``find-spark-home``, the
script by which all of them find Spark. pip's version of it runs the ``python3`` on the PATH, which,
if the environment is not activated, is another Python without Spark.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

SCRIPT: Final = """\
#!/usr/bin/env bash
# Written by 'make spark': the Spark, the Python and, where there is none on the PATH, the Java that
# this environment's jobs run with. What is set already stays as it is.
bin="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
if [ -z "${SPARK_HOME}" ]; then
  export SPARK_HOME="$("$bin/python" "$bin/find_spark_home.py")"
fi
if [ -z "${PYSPARK_DRIVER_PYTHON}" ] && [ -z "${PYSPARK_PYTHON}" ]; then
  export PYSPARK_DRIVER_PYTHON="$bin/python"
fi
if [ -z "${JAVA_HOME}" ]; then
  JAVA_HOME="$("$bin/python" -c 'from spark.session import find_java; print(find_java())')" &&
    export JAVA_HOME
fi
"""
"""Needs only the environment's own Python; finds a Java like the jobs do."""

_FINDER: Final = "find_spark_home.py"


class NotInstalledError(Exception):
    """The environment has no Spark."""


def install(directory: Path) -> Path:
    """Write the script into an environment's directory of programs. Raises NotInstalledError."""
    if not (directory / _FINDER).is_file():
        raise NotInstalledError(f"{directory} has no {_FINDER}: run 'make spark'")
    script = directory / "find-spark-home"
    unfinished = script.with_name(f".{script.name}.part")
    unfinished.write_text(SCRIPT, encoding="utf-8")
    unfinished.chmod(0o755)
    return unfinished.replace(script)


def main() -> int:
    """Write the script into this Python's environment; returns the exit status."""
    try:
        install(Path(sys.executable).parent)
    except NotInstalledError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
