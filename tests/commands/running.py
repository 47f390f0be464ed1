"""Running ``kafka-gateway`` in this process, beside the fake gateway that it talks to."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from typing import Any

from gateway import cli
from gateway.commands.admin import Admin
from gateway.commands.client import GatewayClient
from gateway.config.addresses import parse_address
from tests.commands.fake_gateway import FakeGateway


@dataclass(frozen=True, slots=True)
class Said:
    """How a command ended, and its output. In ``err`` an error and its next step are one line,
    ``error; step``, of which ``printed`` makes two."""

    status: int
    out: str
    printed: str

    @property
    def err(self) -> str:
        return self.printed.replace("\n  ", "; ")

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def json(self) -> Any:
        return json.loads(self.out)


async def command(*words: str) -> Said:
    """Run the command with these arguments, in a thread of its own."""

    def run() -> Said:
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            try:
                status = cli.main(words)
            except SystemExit as ended:
                status = int(ended.code or 0)
        return Said(status, out.getvalue(), err.getvalue())

    return await asyncio.to_thread(run)


@asynccontextmanager
async def admin_at(gateway: FakeGateway, timeout: float = 120) -> AsyncIterator[Admin]:
    """An admin client of a gateway, which is closed at the end."""
    client = GatewayClient([parse_address(gateway.address)], timeout=timeout)
    try:
        yield Admin(client)
    finally:
        client.close()


async def topics(gateway: FakeGateway, *words: str) -> Said:
    """``kafka-gateway topics`` at that gateway, whose address is left out of its hints."""
    return _anywhere(gateway, await command("topics", *_at(gateway), *words))


async def configs(gateway: FakeGateway, *words: str) -> Said:
    """``kafka-gateway configs`` in the same way."""
    return _anywhere(gateway, await command("configs", *_at(gateway), *words))


async def acls(gateway: FakeGateway, *words: str) -> Said:
    """``kafka-gateway acls`` in the same way."""
    return _anywhere(gateway, await command("acls", *_at(gateway), *words))


async def adopt(gateway: FakeGateway, *words: str) -> Said:
    """``kafka-gateway adopt`` in the same way."""
    return _anywhere(gateway, await command("adopt", *_at(gateway), *words))


def _at(gateway: FakeGateway) -> list[str]:
    return ["--bootstrap-server", gateway.address]


def _anywhere(gateway: FakeGateway, said: Said) -> Said:
    return replace(said, printed=said.printed.replace(f"{' '.join(_at(gateway))} ", ""))
