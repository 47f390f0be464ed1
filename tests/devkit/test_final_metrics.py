"""devkit.final_metrics: a supervisor leaves its metrics when it has ended."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from devkit import final_metrics
from devkit.sums import FILE
from gateway import cli
from gateway.processes import supervisor
from gateway.processes.metrics import Metrics


def test_the_last_metrics_are_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run(self: supervisor.Supervisor) -> int:
        self.metrics.count("worker_restarts", (), 3)
        return 5

    def serve() -> int:
        made = object.__new__(supervisor.Supervisor)
        made.metrics = Metrics("1.0", 10)
        return asyncio.run(made.run())

    monkeypatch.setattr(supervisor.Supervisor, "run", run)
    monkeypatch.setattr(cli, "main", serve)
    monkeypatch.setenv(FILE, str(tmp_path / "metrics"))
    assert final_metrics.main() == 5
    assert "kafka_gateway_worker_restarts_total 3.0\n" in (tmp_path / "metrics").read_text()
