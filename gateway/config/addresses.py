"""Addresses of hosts and ports, and their text."""

from __future__ import annotations

from typing import Final, NamedTuple

MAX_PORT: Final = 65_535


class Address(NamedTuple):
    """A host name or address, and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def parse_address(text: object) -> Address:
    """Parse ``host:port`` or ``[v6]:port``. Raises ValueError with one sentence."""
    if isinstance(text, str):
        host, colon, port = text.rpartition(":")
        bare = host.removeprefix("[").removesuffix("]")
        bracketed = host == f"[{bare}]"
        if colon and bare and port.isascii() and port.isdigit() and (bracketed or ":" not in bare):
            if len(port) <= 5 and 1 <= int(port) <= MAX_PORT:
                return Address(bare, int(port))
            raise ValueError(f"port {port[:16]} of '{text}' is not within 1-{MAX_PORT}; correct it")
    raise ValueError(f"'{text}' is not HOST:PORT; write it like broker-1.example:9092")
