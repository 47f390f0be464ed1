"""gateway.processes.start_texts: the log lines of a gateway that starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from gateway import version
from gateway.config.models import Config
from gateway.config_file.loading import load_config
from gateway.processes.start_texts import ready_text, start_text
from tests.config import config_samples

ADDRESSES = ["root-1.example:9500", "root-2.example:9500"]


def with_peers(directory: Path, **tree: Any) -> Config:
    values = config_samples.peer_values(directory, **tree)
    path = directory / "gateway.yaml"
    path.write_text(yaml.safe_dump(values))
    return load_config(path)


def test_a_gateway_without_peers_says_nothing_of_them(tmp_path: Path) -> None:
    config = config_samples.tree(tmp_path)
    assert start_text(config).startswith(f"kafka-gateway {version()} (pure) with 1 worker, cluster")
    port = config.metrics.port
    assert start_text(config).endswith(f"/metrics, page at http://127.0.0.1:{port}/")
    assert "gateways of the tree" not in ready_text(config)


def test_peers_and_where_they_ask(tmp_path: Path) -> None:
    child = {"name": "deep", "mount": "/la/tracking/deep", "addresses": ["deep.example:9500"]}
    config = with_peers(
        tmp_path,
        parents=[{"name": "root", "addresses": ADDRESSES}],
        children=[child],
        listener={"bind": "0.0.0.0", "port": 9600},  # noqa: S104
    )
    assert start_text(config).endswith(
        "/, parent 'root' at root-1.example:9500, root-2.example:9500, child 'deep' at "
        "deep.example:9500 (mounted at ':la:tracking:deep')"
    )
    assert ready_text(config).endswith("; other gateways of the tree at 0.0.0.0:9600")


def test_a_tree_of_one_gateway(tmp_path: Path) -> None:
    alone = with_peers(tmp_path, parents=[], children=[], listener=None)
    assert start_text(alone).endswith("/, no other gateway of the tree")
    assert "other gateways" not in ready_text(alone)


def test_without_a_page_there_is_no_word_of_one(tmp_path: Path) -> None:
    open_to_all = config_samples.config(tmp_path, metrics={"host": "0.0.0.0"})  # noqa: S104
    assert "page at" not in start_text(open_to_all)
