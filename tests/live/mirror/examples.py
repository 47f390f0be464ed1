"""The example files of config/ for MirrorMaker, with this machine's addresses."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.mirror_maker import MirrorMakerProcess, read_properties

CONFIGS: Final = Path(__file__).parents[3] / "config"


def listeners(file: str) -> tuple[Mapping[str, Any], list[Listener]]:
    """An example configuration, and the listeners in it."""
    values = yaml.safe_load((CONFIGS / file).read_text())
    keys = ("home", "list_subtree", "volume")
    found = [
        Listener(one["name"], file, security={key: one[key] for key in keys if key in one})
        for one in values["listeners"]
    ]
    return values, found


def addresses(values: Mapping[str, Any], gateway: GatewayProcess) -> dict[str, str]:
    """Maps each address in an example to the gateway's real address."""
    return {
        f"127.0.0.1:{one['port']}": gateway.bootstrap_servers(one["name"])
        for one in values["listeners"]
    }


def mirror_maker(file: str, real: Mapping[str, str]) -> MirrorMakerProcess:
    """MirrorMaker with an example's properties.

    Only the addresses differ, and properties that make it quick and allow a single broker.
    """
    properties = read_properties((CONFIGS / file).read_text())
    clusters = properties["clusters"].split(", ")
    servers = {one: real[properties.pop(f"{one}.bootstrap.servers")] for one in clusters}
    quick = MirrorMakerProcess(servers, []).properties
    return MirrorMakerProcess(servers, [], {**properties, **quick})
