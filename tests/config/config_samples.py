"""Configurations for tests: small, valid, on free ports of the loopback address."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from devkit.certificates import Authority
from devkit.ports import free_port, free_ports
from gateway.config.models import Config
from gateway.config_file.loading import load_config

NODE_IDS = 3


def values(**overrides: Any) -> dict[str, Any]:
    """The values of a file with a listener; ``overrides`` replace top-level keys."""
    ports = free_ports(1 + NODE_IDS)
    return {
        "gateway_id": "gw",
        "clusters": [
            {
                "name": "main",
                "bootstrap_servers": [f"127.0.0.1:{free_port()}"],
                "node_ids": [f"1-{NODE_IDS}"],
            }
        ],
        "namespaces": ["team-a"],
        "listeners": [{"name": "colon", "port": ports[0]}],
        "metrics": {"port": free_port()},
        "traffic_log": {"enabled": False},
        **overrides,
    }


def tree_values(**overrides: Any) -> dict[str, Any]:
    """The values of a file with clusters at la:tracking and ny:tracking, and a listener of each.
    Both listeners have the ports of both clusters."""
    ports = free_ports(2 * (1 + 2 * NODE_IDS))
    clusters = [
        {
            "name": name,
            "bootstrap_servers": [f"127.0.0.1:{free_port()}"],
            "node_ids": [f"1-{NODE_IDS}"],
            "mount": f"{name}:tracking",
            "number": number,
            "namespaces": ["search"],
        }
        for number, name in enumerate(("la", "ny"), 1)
    ]
    listeners = [
        {"name": "la", "port": ports[0], "volume": "la:tracking"},
        {"name": "ny", "port": ports[1 + 2 * NODE_IDS], "volume": "ny:tracking"},
    ]
    return {
        "gateway_id": "gw",
        "clusters": clusters,
        "listeners": listeners,
        "metrics": {"port": free_port()},
        "traffic_log": {"enabled": False},
        **overrides,
    }


def tree(directory: Path, **overrides: Any) -> Config:
    """The configuration of :func:`tree_values`."""
    return load_config(write_tree(directory, **overrides))


def write_tree(directory: Path, **overrides: Any) -> Path:
    """A file with :func:`tree_values`."""
    path = directory / "gateway.yaml"
    path.write_text(yaml.safe_dump(tree_values(**overrides), sort_keys=False))
    return path


def write(directory: Path, **overrides: Any) -> Path:
    """A file with :func:`values`."""
    path = directory / "gateway.yaml"
    path.write_text(yaml.safe_dump(values(**overrides), sort_keys=False))
    return path


def config(directory: Path, **overrides: Any) -> Config:
    """The configuration of :func:`values`."""
    return load_config(write(directory, **overrides))


def peer_values(directory: Path, **tree: Any) -> dict[str, Any]:
    """:func:`tree_values` with a parent `root` and a child `deep` at la:tracking:deep; ``tree``
    replaces keys of ``tree``. The certificate, CN=gw, is made in the directory."""
    authority = Authority(directory / "peers")
    own = authority.peer("gw")
    tls = {"ca": authority.file, "certificate": own.certificate, "key": own.key}
    child = {"name": "deep", "mount": "la:tracking:deep"}
    return tree_values(
        tree={
            "tls": {key: str(path) for key, path in tls.items()},
            "listener": {"port": free_port()},
            "parents": [{"name": "root", "addresses": [f"127.0.0.1:{free_port()}"]}],
            "children": [{**child, "addresses": [f"127.0.0.1:{free_port()}"]}],
            **tree,
        }
    )
