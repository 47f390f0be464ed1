"""Formatted data directories of brokers: Kafka's storage tool writes the first of a kind; later
directories of this process are copies with ids of their own, because running the tool takes a third
of the time of a broker's start."""

from __future__ import annotations

import base64
import re
import threading
import uuid
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import Final

META: Final = "meta.properties"

_written: dict[Hashable, Mapping[str, bytes]] = {}
_turn = threading.Lock()


def format_data(
    directory: Path, kind: Hashable, node_id: int, cluster_id: str, tool: Callable[[], None]
) -> None:
    """Make ``directory`` the formatted data directory of a node.

    ``kind`` is equal for nodes whose formatted directories differ in their ids alone (KIP-858).
    ``tool`` runs the storage tool, which makes the directory; its exceptions are raised.
    """
    with _turn:
        files = _written.get(kind)
        if files is None:
            tool()
            _written[kind] = {file.name: file.read_bytes() for file in directory.iterdir()}
            return
    directory.mkdir()
    ids = {"node.id": str(node_id), "cluster.id": cluster_id, "directory.id": new_id()}
    for name, content in files.items():
        (directory / name).write_bytes(_with(content, ids) if name == META else content)


def new_id() -> str:
    """An id in the form of Kafka's own ids, which must not begin with ``-``, like a command's
    options."""
    while (text := base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode())[0] == "-":
        pass
    return text


def _with(properties: bytes, ids: Mapping[str, str]) -> bytes:
    text = properties.decode()
    for key, value in ids.items():
        text, count = re.subn(rf"(?m)^{re.escape(key)}=.*$", f"{key}={value}", text)
        assert count == 1, f"{key} in {META}\n{text}"
    return text.encode()
