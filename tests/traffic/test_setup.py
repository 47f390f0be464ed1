"""gateway.traffic.log: the sinks of a configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gateway.traffic.log import open_traffic_log
from tests.catalog.test_catalog_topic import FakeAdmin
from tests.config import config_samples


def places(tmp_path: Path, **traffic_log: Any) -> list[str] | None:
    """The sinks to which records go."""
    config = config_samples.config(tmp_path, traffic_log=traffic_log)
    log = open_traffic_log(config, 0, FakeAdmin())
    return None if log is None else [str(row[1][0]) for row in log.take_rows()[:-1]]


def test_files_by_default(tmp_path: Path) -> None:
    assert places(tmp_path) == ["file"]


def test_a_topic_besides_or_alone(tmp_path: Path) -> None:
    topic = "__kafka_gateway_traffic"
    assert places(tmp_path, topic=topic) == ["file", "topic"]
    assert places(tmp_path, topic=topic, directory=None) == ["topic"]


def test_none(tmp_path: Path) -> None:
    assert places(tmp_path, enabled=False) is None
