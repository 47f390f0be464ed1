"""Configurations that tests write, and the lines of their errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from gateway.config.errors import ConfigError
from gateway.config.models import Config
from gateway.config_file.loading import load_config
from tests.config import config_samples

MINIMAL = """\
clusters:
  - name: main
    bootstrap_servers: [broker-1:9092, "[::1]:9093"]
    node_ids: ["1-3", 10]
listeners:
  - name: colon
    port: 9192
"""


def load(directory: Path, text: str) -> Config:
    path = directory / "g.yaml"
    path.write_text(text)
    return load_config(path)


def rejections(directory: Path, text: str) -> list[str]:
    """The lines of the error, without the file's name."""
    with pytest.raises(ConfigError) as caught:
        load(directory, text)
    return [line.removeprefix(f"{directory / 'g.yaml'}:") for line in str(caught.value).split("\n")]


def rejections_with(directory: Path, **overrides: Any) -> list[str]:
    """The rejections of a valid file with these top-level keys, without their lines."""
    text = yaml.safe_dump(config_samples.values(**overrides))
    return [line.partition(": ")[2] for line in rejections(directory, text)]
