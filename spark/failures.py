"""Reports a command's failure in a single line if the user can correct it.

Spark reports paths that cannot be written, files that cannot be read, and unreachable clusters as
errors of the JVM, a hundred lines each; the line is the root cause. A defect of the jobs themselves
keeps its traceback.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from spark.output import OutputError
from spark.session import SetupError
from spark.sources import SourceError
from spark.table import TableError

OWN: Final = (OutputError, SetupError, SourceError, TableError)
FAILURES: Final = (*OWN, PySparkException, Py4JJavaError)
"""The errors that a command catches and passes to :func:`failed`."""

_MISTAKES: Final = (AssertionError, AttributeError, LookupError, NameError, TypeError)
"""PySpark raises these classes if it is called wrongly."""
_NAMES_OF_MISTAKES: Final = tuple(one.__name__ for one in _MISTAKES)

_CALLBACK: Final = "Traceback (most recent call last)"
_RAISED: Final = re.compile(r"^([A-Za-z_][\w.]*)(?:: (.*))?$", re.MULTILINE)
_OF_THE_JVM: Final = re.compile(r"^(?:Caused by)?: (\S.*)$", re.MULTILINE)


def failed(job: str, error: Exception) -> int:
    """Report a failure in one line on stderr; returns the exit status. Raises the error again if it
    is a defect of the jobs; so call this where the error is handled."""
    line = _line(error)
    if line is None:
        raise error
    print(f"spark.{job}: {line}", file=sys.stderr)
    return 2


def _line(error: Exception) -> str | None:
    if isinstance(error, OWN):
        return str(error)
    if isinstance(error, _MISTAKES):
        return None
    chain = list(_causes(error))
    for text in chain:
        if _CALLBACK in text:
            return _of_callback(text)
    said = [first for text in chain if (first := _first_line(text))]
    if not said:
        return type(error).__name__
    # The last message is the root cause. The message before it may name the file or the setting.
    *_, around, root = [said[0], *said]
    return root if root in around or len(said) == 1 else f"{around}: {root}"


def _causes(error: Exception) -> Iterator[str]:
    """The messages of the JVM's errors, the outermost first."""
    java: Any = error.java_exception if isinstance(error, Py4JJavaError) else None
    if java is None:
        java = getattr(error, "_origin", None)
    if java is None:
        yield f"{type(error).__name__}: {error}"
    while java is not None:
        yield f"{java.getClass().getSimpleName()}: {java.getMessage() or ''}"
        java = java.getCause()


def _first_line(text: str) -> str:
    name, _, said = text.partition(": ")
    first = next((line.strip() for line in said.splitlines() if line.strip()), "")
    return f"{name}: {first}" if first else name


def _of_callback(text: str) -> str | None:
    """The message of the error that a Python callback of the JVM raised last, or None if it is a
    defect of the jobs."""
    trace = text.rpartition(_CALLBACK)[2]
    raised = _RAISED.search(trace)
    if raised is None:
        return None
    name, said = raised[1], raised[2] or ""
    if name in {f"{one.__module__}.{one.__name__}" for one in OWN}:
        return said
    if not name.startswith(("py4j.", "pyspark.")) or name.endswith(_NAMES_OF_MISTAKES):
        return None
    of_the_jvm: list[str] = _OF_THE_JVM.findall(trace)
    return of_the_jvm[-1] if of_the_jvm else said
