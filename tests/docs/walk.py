"""``make walk``: writes the table of what a Produce passes, seen in a run, into ARCHITECTURE.md."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from types import FrameType
from typing import Any, Final

from gateway.connections.broker_side import BrokerSide
from tests.connections.connected import connected, settled
from tests.docs import markdown
from tests.session.allowing import Allowing
from tests.session.pair import Pair, request_frame, response_frame
from tests.session.producing import batch, produce, produced

PAGE: Final = markdown.ROOT / "ARCHITECTURE.md"
HEAD: Final = "| file | functions that run |"

_PRODUCT: Final = tuple(str(markdown.ROOT / root) + "/" for root in ("gateway", "protocol"))
_IF_SLOW: Final = ("_count_late", "_count_at")
"""Functions that run if the machine is so busy that the request takes long."""

_TOPIC, _FLAT = "team-a:orders", "team-a..orders"


def passed() -> dict[Path, list[str]]:
    """The files that a Produce passes, from its bytes to the response that its client gets, in the
    order in which it first comes to each, and the functions that run there."""
    return asyncio.run(_passed())


async def _passed() -> dict[Path, list[str]]:
    pair = Pair(authorizer=Allowing([f"WRITE TOPIC {_TOPIC}"]), topics=[_FLAT])
    connection, server, client = connected(pair)
    request = request_frame("Produce", 9, produce({_TOPIC: [batch(1)]}, 9))
    response = response_frame("Produce", 9, produced({_FLAT: [0]}, 9))
    connection.data_received(request)
    await settled()  # it is connected to a broker, and what it may do is cached
    broker = connection._broker
    assert isinstance(broker, BrokerSide)
    broker.data_received(response)
    before = len(server.broker.written), len(client.written)
    files: dict[Path, list[str]] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(_PRODUCT):
            functions = files.setdefault(Path(code.co_filename), [])
            name = code.co_qualname.removesuffix(".__init__").rpartition(".")[2]
            if name not in functions and name not in _IF_SLOW:
                functions.append(name)

    sys.setprofile(note)
    try:
        connection.data_received(request)
        broker.data_received(response)
    finally:
        sys.setprofile(None)
    assert len(server.broker.written) > before[0], "no request was forwarded"
    assert len(client.written) > before[1], "no response was forwarded"
    return files


def table() -> list[str]:
    """The lines of the table."""
    lines = [HEAD, "| --- | --- |"]
    for path, functions in passed().items():
        name = path.relative_to(markdown.ROOT).as_posix().removeprefix("gateway/")
        shown = ", ".join(f"`{function}`" for function in functions)
        lines.append(f"| `{name}` | {shown} |")
    return lines


def with_table(page: str) -> str:
    """The page with the table in place of the one that it has."""
    lines = page.splitlines(keepends=True)
    start = lines.index(f"{HEAD}\n")
    stop = next(at for at in range(start, len(lines)) if not lines[at].startswith("|"))
    return "".join([*lines[:start], *(f"{line}\n" for line in table()), *lines[stop:]])


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text()))
