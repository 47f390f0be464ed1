"""A name server in this process: the results of ``socket.getaddrinfo``, and their time."""

from __future__ import annotations

import socket
import threading
from typing import Any

import pytest

_real = socket.getaddrinfo


class NameServer:
    """Responds for the names in ``addresses``; holds responses for names in ``silent`` back until
    ``released``. ``failures`` are error codes of ``getaddrinfo``. Other names do not exist."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.addresses: dict[str, list[str]] = {}
        self.failures: dict[str, int] = {}
        self.silent: set[str] = set()
        self.released = threading.Event()
        self.asked: list[str] = []
        monkeypatch.setattr(socket, "getaddrinfo", self._getaddrinfo)

    def _getaddrinfo(self, host: Any, port: Any, *rest: Any, **named: Any) -> Any:
        if named.get("flags", 0) & socket.AI_NUMERICHOST or host in ("127.0.0.1", "::1"):
            return _real(host, port, *rest, **named)
        self.asked.append(host)
        if host in self.silent:
            assert self.released.wait(600)
        if host in self.failures:
            raise socket.gaierror(self.failures[host], "failed as told")
        if host not in self.addresses:
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        kind = socket.SOCK_STREAM
        return [info for ip in self.addresses[host] for info in _real(ip, port, type=kind)]
