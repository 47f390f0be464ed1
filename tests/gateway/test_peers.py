"""The other end of a socket, as text."""

from __future__ import annotations

import pytest

from gateway.peers import address_text, host_text


@pytest.mark.parametrize(
    ("peer", "address", "host"),
    [
        (("10.0.0.1", 5000), "10.0.0.1:5000", "10.0.0.1"),
        (("::1", 5000, 0, 0), "[::1]:5000", "::1"),
        (("::ffff:10.0.0.1", 5000, 0, 0), "[::ffff:10.0.0.1]:5000", "10.0.0.1"),
        (None, "unknown", ""),
        ("/run/socket", "unknown", ""),
        ((), "unknown", ""),
    ],
)
def test_addresses(peer: object, address: str, host: str) -> None:
    assert address_text(peer) == address
    assert host_text(peer) == host
