"""A GET request to a program on this machine."""

from __future__ import annotations

import http.client
from typing import Final

HOST: Final = "127.0.0.1"
SECONDS: Final = 60.0


def get(port: int, path: str, seconds: float = SECONDS) -> tuple[int, str]:
    """The status and the body of the response. Raises OSError or HTTPException without a
    response."""
    connection = http.client.HTTPConnection(HOST, port, timeout=seconds)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()
