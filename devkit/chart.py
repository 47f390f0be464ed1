"""The Helm chart in deploy/helm: ``python -m devkit.chart`` lints, renders and validates it.

It does so with the default values and with each file of ``ci/``. ``helm`` is taken from the PATH,
or built with Go if it is missing. The rendered manifests are validated by Kubernetes' schemas
(``devkit/chart_schemas.py``, in an environment of its own), and the configuration in them is read
by the gateway's own code. No Kubernetes cluster is needed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import yaml

from devkit.certificates import Authority
from devkit.locked_python import LockedPythonError, python_with
from devkit.paths import PROJECT_ROOT, cache_dir, one_at_a_time
from devkit.waiting import progress
from gateway.config.errors import ConfigError
from gateway.config.models import Config
from gateway.config_file.loading import load_config

CHART: Final = PROJECT_ROOT / "deploy" / "helm" / "kafka-gateway"

_HELM: Final = "helm.sh/helm/v3/cmd/helm@v3.22.0"
_LOCK: Final = PROJECT_ROOT / "requirements" / "chart.txt"
_SECRETS: Final = re.compile(r"/etc/kafka-gateway-[a-z-]+(?=/)")
# Pinned: helm's default Kubernetes version depends on how helm was built.
_RELEASE: Final = ("demo", "--namespace", "kafka", "--kube-version", "1.37.0")


class ChartError(Exception):
    """The chart is wrong, or a tool is missing; the message has the details."""


def values_files() -> list[Path]:
    """The files of values with which the chart is checked, besides its own defaults."""
    return sorted((CHART / "ci").glob("*-values.yaml"))


def helm() -> str:
    """The command ``helm``, built now if it is missing. Raises ChartError."""
    if (found := shutil.which("helm")) is not None:
        return found
    built = cache_dir() / "go" / "bin" / "helm"
    with one_at_a_time("helm"):
        if not built.is_file():
            if shutil.which("go") is None:
                raise ChartError("neither helm nor go is on the PATH: install one of them")
            with progress("building helm"):
                _run(["go", "install", _HELM], {"GOBIN": str(built.parent)})
    return str(built)


def validator() -> Path:
    """The Python of the environment with Kubernetes' schemas, made now if missing or outdated.
    Raises ChartError."""
    try:
        return python_with(_LOCK)
    except LockedPythonError as error:
        raise ChartError(str(error)) from error


def manifests(values: Path | None) -> list[dict[str, Any]]:
    """The manifests that the chart renders with these values. Raises ChartError."""
    flags = [] if values is None else ["--values", str(values)]
    text = _run([helm(), "template", *_RELEASE, str(CHART), *flags], {})
    return [document for document in yaml.safe_load_all(text) if document]


def configurations(documents: list[dict[str, Any]]) -> Iterator[str]:
    """The gateway's configuration in the first pod of a release."""
    for document in documents:
        text = document.get("data", {}).get("gateway.yaml")
        if text is not None:
            yield text.replace("${POD_NAME}", "demo-kafka-gateway-0")


def read_by_the_gateway(text: str, directory: Path) -> Config:
    """Read a configuration of the chart; it is written to ``directory``, with the files of
    Kubernetes' TLS Secrets. Raises ChartError."""
    authority = Authority(directory)
    server = authority.server()
    for name, path in (
        ("ca.crt", authority.file),
        ("tls.crt", server.certificate),
        ("tls.key", server.key),
    ):
        shutil.copy(path, directory / name)
    passwords = dict.fromkeys(re.findall(r"\benv: (\w+)", text), "secret")
    file = directory / "gateway.yaml"
    file.write_text(_SECRETS.sub(str(directory), text))
    try:
        with patch.dict(os.environ, passwords):
            return load_config(file)
    except ConfigError as error:
        raise ChartError(f"the gateway rejects the configuration:\n{error}") from error


def check(values: Path | None) -> list[dict[str, Any]]:
    """Lint and render the chart and validate the manifests; returns them. Raises ChartError."""
    flags = [] if values is None else ["--values", str(values)]
    _run([helm(), "lint", "--strict", str(CHART), *flags], {})
    found = manifests(values)
    with tempfile.TemporaryDirectory(prefix="kafka-gateway-chart-") as temporary:
        file = Path(temporary) / "manifests.json"
        file.write_text(json.dumps(found))
        schemas = PROJECT_ROOT / "devkit" / "chart_schemas.py"
        _run([str(validator()), str(schemas), str(file)], {})
        (text,) = configurations(found)
        read_by_the_gateway(text, Path(temporary))
    return found


def _run(command: list[str], more: dict[str, str]) -> str:
    """The standard output of a command. Raises ChartError."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, env={**env, **more}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ChartError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def _main() -> int:
    try:
        for values in [None, *values_files()]:
            found = check(values)
            kinds = sorted({document["kind"] for document in found})
            name = "defaults" if values is None else values.name
            print(f"{name}: {len(found)} manifests ({', '.join(kinds)})")
    except ChartError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_main())
