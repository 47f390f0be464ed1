"""Validates manifests; run by ``devkit.chart`` in the environment of ``requirements/chart.txt``.

``python chart_schemas.py FILE`` reads a JSON list of manifests. Kubernetes' kinds are validated by
its schemas of the oldest and the newest available version, strictly: unknown fields are mistakes.
Kinds of Prometheus' operator are validated by models generated from its own schemas. Every mistake
is a line on standard error, and then the exit status is 1.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import kubernetes_validate
from cloudcoil.models.prometheus_operator import v1 as prometheus
from pydantic import ValidationError

VERSIONS: Final = ("1.25", "1.37")
"""The chart's oldest version, see ``kubeVersion`` in Chart.yaml, and the newest with schemas."""

_OPERATOR: Final = "monitoring.coreos.com/v1"


def mistakes(manifest: dict[str, Any]) -> Iterator[str]:
    """The mistakes in a manifest, a sentence each."""
    name = f"{manifest['kind']} {manifest['metadata']['name']}"
    if manifest["apiVersion"] == _OPERATOR:
        model = getattr(prometheus, manifest["kind"])
        try:
            read = model.model_validate(manifest)
        except ValidationError as error:
            yield f"{name}: {error}"
            return
        known = json.loads(read.model_dump_json(by_alias=True, exclude_unset=True))
        yield from (f"{name}: unknown field {field}" for field in _lost(manifest, known, ""))
        return
    for version in VERSIONS:
        try:
            kubernetes_validate.validate(manifest, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            path = ".".join(map(str, error.path))
            yield f"{name}, Kubernetes {version}: {path}: {error.message}"


def _lost(written: Any, read: Any, at: str) -> Iterator[str]:
    """The written fields that the model does not have."""
    if isinstance(written, dict) and isinstance(read, dict):
        for key, value in written.items():
            if key in read:
                yield from _lost(value, read[key], f"{at}.{key}")
            else:
                yield f"{at}.{key}"
    elif isinstance(written, list) and isinstance(read, list):
        for index, (one, other) in enumerate(zip(written, read, strict=True)):
            yield from _lost(one, other, f"{at}[{index}]")


def _main() -> int:
    found = [
        mistake
        for manifest in json.loads(Path(sys.argv[1]).read_text())
        for mistake in mistakes(manifest)
    ]
    print("\n".join(found), file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(_main())
