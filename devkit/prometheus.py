"""Runs a real Prometheus that scrapes gateways, and promtool, which checks rules."""

from __future__ import annotations

import http.client
import json
import math
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import urlencode

import yaml

from devkit import debian
from devkit.http_get import HOST, get
from devkit.ports import free_port
from devkit.process import ManagedProcess
from devkit.waiting import wait_until

JOB: Final = "kafka-gateway"
SCRAPE_SECONDS: Final = 1
_SECONDS: Final = 120.0


class PrometheusError(Exception):
    """Prometheus rejected a request, or promtool a file."""


@dataclass(frozen=True, slots=True)
class Programs:
    """The paths of Prometheus and promtool."""

    prometheus: Path
    promtool: Path


def programs() -> Programs:
    """The programs on the PATH, else Debian's, fetched if they are missing. Raises DebianError."""
    found = shutil.which("prometheus"), shutil.which("promtool")
    if found[0] is not None and found[1] is not None:
        return Programs(Path(found[0]), Path(found[1]))
    folder = debian.unpacked("prometheus") / "usr" / "bin"
    return Programs(folder / "prometheus", folder / "promtool")


def promtool(*arguments: str, folder: Path) -> str:
    """The output of promtool, started in ``folder``. Raises PrometheusError if it rejects a
    file."""
    command = [str(programs().promtool), *arguments]
    ended = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    if ended.returncode != 0:
        raise PrometheusError(f"promtool {' '.join(arguments)}\n{ended.stdout}{ended.stderr}")
    return ended.stdout


class Prometheus:
    """A running Prometheus. It scrapes the ports ``targets`` of this machine every second, as a
    single job, and evaluates the rules of ``rule_files`` as often."""

    def __init__(self, targets: Sequence[int], rule_files: Sequence[Path]) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix="kafka-gateway-prometheus-"))
        self._port = free_port()
        interval = f"{SCRAPE_SECONDS}s"
        config = {
            "global": {"scrape_interval": interval, "evaluation_interval": interval},
            "scrape_configs": [
                {
                    "job_name": JOB,
                    "static_configs": [{"targets": [f"{HOST}:{port}" for port in targets]}],
                }
            ],
            "rule_files": [str(path) for path in rule_files],
        }
        path = self._directory / "prometheus.yml"
        path.write_text(yaml.safe_dump(config))
        self._process = ManagedProcess(
            "prometheus",
            [
                str(programs().prometheus),
                f"--config.file={path}",
                f"--storage.tsdb.path={self._directory / 'data'}",
                f"--web.listen-address={HOST}:{self._port}",
            ],
            self._directory / "log",
        )

    def __enter__(self) -> Self:
        try:
            wait_until(self._ready, "Prometheus", _SECONDS)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        shutil.rmtree(self._directory, ignore_errors=True)

    def has_data(self, expression: str) -> bool:
        """Whether a query returns a number now. Raises PrometheusError if the query is not
        valid."""
        found = self._get("/api/v1/query", {"query": expression})
        return any(not math.isnan(float(one["value"][1])) for one in found["result"])

    def series(
        self, expression: str, end: float, seconds: int, instant: bool
    ) -> list[tuple[Mapping[str, str], list[tuple[float, float]]]]:
        """Labels and points (seconds since 1970, number) of each series in the ``seconds`` before
        ``end``; ``instant``: only at the end. Raises PrometheusError if the query is not valid."""
        if instant:
            found = self._get("/api/v1/query", {"query": expression, "time": str(end)})
            rows = [(one["metric"], [one["value"]]) for one in found["result"]]
        else:
            span = {"start": str(end - seconds), "end": str(end), "step": "2"}
            found = self._get("/api/v1/query_range", {"query": expression, **span})
            rows = [(one["metric"], one["values"]) for one in found["result"]]
        return [
            (labels, [(float(at), float(v)) for at, v in points if not math.isnan(float(v))])
            for labels, points in rows
        ]

    def rules(self) -> list[dict[str, Any]]:
        """Every rule with its present state: ``name``, ``health`` (``ok``, ``err``, ``unknown``),
        ..."""
        groups = self._get("/api/v1/rules", {})["groups"]
        return [rule for group in groups for rule in group["rules"]]

    def _ready(self) -> bool:
        if not self._process.running:
            raise PrometheusError(f"Prometheus has ended\n{self._process.tail()}")
        try:
            return get(self._port, "/-/ready", _SECONDS)[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def _get(self, path: str, arguments: Mapping[str, str]) -> Any:
        status, body = get(self._port, f"{path}?{urlencode(arguments)}", _SECONDS)
        answer = json.loads(body)
        if status != 200 or answer["status"] != "success":
            raise PrometheusError(f"{answer.get('error')}: {arguments}")
        return answer["data"]
