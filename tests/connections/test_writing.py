"""Writing pieces: few calls, and large ones not copied."""

from __future__ import annotations

import pytest

from gateway.connections.writing import JOIN_LIMIT, write
from tests.connections.fake_transport import FakeTransport


class CountingTransport(FakeTransport):
    """Counts the calls."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.calls.append("write")
        super().write(data)

    def writelines(self, list_of_data: object) -> None:
        self.calls.append("writelines")
        assert isinstance(list_of_data, list)
        self.written += b"".join(list_of_data)


@pytest.mark.parametrize(
    ("pieces", "call"),
    [
        ([b"one"], "write"),
        ([bytes(JOIN_LIMIT + 1)], "write"),
        ([b"one", b"two"], "write"),
        ([bytes(JOIN_LIMIT), b"two"], "writelines"),
    ],
)
def test_pieces(pieces: list[bytes], call: str) -> None:
    transport = CountingTransport()
    write(transport, list(pieces))
    assert transport.calls == [call]
    assert transport.written == b"".join(pieces)
