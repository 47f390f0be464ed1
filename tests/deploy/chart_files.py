"""The files of the Helm chart, read without helm."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import yaml

from devkit.chart import CHART, values_files

TEMPLATES: Final = sorted((CHART / "templates").iterdir())
DEFAULTS: Final[dict[str, Any]] = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA: Final[dict[str, Any]] = json.loads((CHART / "values.schema.json").read_text())

_REFERENCE: Final = re.compile(r"\.Values((?:\.[A-Za-z]\w*)+)")


def references() -> dict[str, str]:
    """Every value that a template names (``image.tag``), and a template that names it."""
    return {
        match[1:]: path.name for path in TEMPLATES for match in _REFERENCE.findall(path.read_text())
    }


def all_values() -> dict[str, dict[str, Any]]:
    """The defaults, and each file of ``ci/`` merged over them as helm does, by name."""
    merged = {path.name: _merged(DEFAULTS, _read(path)) for path in values_files()}
    return {"defaults": DEFAULTS, **merged}


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text())
    return found


def _merged(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    found = dict(below)
    for key, value in above.items():
        inner = below.get(key)
        if isinstance(value, dict) and isinstance(inner, dict):
            found[key] = _merged(inner, value)
        else:
            found[key] = value
    return found
