"""The page of a real gateway in a real browser: what clients do is there; what it advises works.

KAFKA_GATEWAY_SCREENSHOTS names a folder for its pictures, to look at.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.cimpl import NewTopic

from devkit.broker import KafkaCluster
from devkit.browser import Page, open_browser
from devkit.chromium import chromium
from devkit.gateway_process import GatewayProcess
from tests.live.support import authorized, clients, namespaces

TOPIC, GROUP = "shop:orders:created", "shop:billing"
ROUNDS = 12
"""Denials one after the other until a client may do what it does."""

DENIALS = """
[...document.querySelectorAll("#denials li")].map((item) => ({
  what: item.querySelector(".what strong").textContent,
  commands: [...item.querySelectorAll("code")].map((code) => code.textContent),
}))
"""


@pytest.fixture(scope="module", autouse=True)
def _browser_is_here() -> None:
    """Fetched once, in the first test's time."""
    chromium()


@pytest.fixture(scope="module")
def gateway(
    kafka: KafkaCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    """Two workers, where users log in and ACLs decide."""
    listener = authorized.listener(tmp_path_factory.mktemp("secrets"))
    spaces = ["shop:orders", "shop:idle"]
    process = authorized.gateway(
        kafka.bootstrap_servers, listener, spaces, workers=2, gateway_id="page-gateway"
    )
    with process:
        servers = process.bootstrap_servers(authorized.USERS_LISTENER)
        clients.done(authorized.admin(servers).create_topics([NewTopic(TOPIC, 1)]))
        yield process


@pytest.fixture
def busy(gateway: GatewayProcess) -> Iterator[str]:
    """The address of the gateway, where an administrator produces all the time."""
    servers = gateway.bootstrap_servers(authorized.USERS_LISTENER)
    stopping = threading.Event()

    def work() -> None:
        login = authorized.login(authorized.ADMIN)
        while not stopping.wait(0.1):
            clients.produce(servers, TOPIC, ["x" * 1_000] * 20, client_id="checkout", **login)

    worker = threading.Thread(target=work)
    worker.start()
    yield servers
    stopping.set()
    worker.join()


class Opened:
    """The page of a gateway in a tab."""

    def __init__(self, tab: Page, gateway: GatewayProcess) -> None:
        self.tab = tab
        self.gateway = gateway

    async def until(self, expression: str, what: str) -> Any:
        try:
            async with asyncio.timeout(clients.SECONDS):
                while not (found := await self.tab.run(expression)):
                    await asyncio.sleep(0.1)
                return found
        except TimeoutError:
            text = await self.tab.run("document.body.innerText")
            raise AssertionError(f"{what} did not come; the page says\n{text}") from None

    async def keep(self, name: str) -> None:
        """A picture of the whole page, kept where somebody wants to look at it."""
        folder = os.environ.get("KAFKA_GATEWAY_SCREENSHOTS")
        if folder:
            width = await self.tab.run("innerWidth")
            height = await self.tab.run("document.documentElement.scrollHeight")
            await self.tab.resize(width, min(height + 10, 8_000))
            (Path(folder) / f"{name}.png").write_bytes(await self.tab.screenshot())


@asynccontextmanager
async def opened(
    gateway: GatewayProcess, directory: Path, *, width: int = 1440, scheme: str = "light"
) -> AsyncIterator[Opened]:
    """The page, which complained of nothing and asked nobody else for anything."""
    start = f"http://127.0.0.1:{gateway.plan.metrics_port}/"
    async with open_browser(directory) as browser, browser.page() as tab:
        await tab.media(scheme=scheme)
        await tab.resize(width, 900)
        await tab.open(start)
        page = Opened(tab, gateway)
        await page.until("document.documentElement.dataset.ready === 'yes'", "the first figures")
        yield page
        assert tab.errors == []
        assert tab.console == []
        assert [url for url in tab.requests if not url.startswith(start)] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
async def test_what_clients_do_is_on_the_page(
    gateway: GatewayProcess, busy: str, tmp_path: Path, width: int, scheme: str
) -> None:
    async with opened(gateway, tmp_path, width=width, scheme=scheme) as page:
        row = "document.querySelector('tr[data-key=\"shop:orders::created\"]')"
        await page.until(f"{row} && !{row}.cells[2].classList.contains('zero')", "the topic")
        await page.until("document.querySelector('#clients').innerText.includes('checkout')", "it")
        # A namespace without traffic comes from the catalog.
        await page.until("!!document.querySelector('tr[data-key=\"shop:idle\"]')", "the catalog")
        text: str = await page.tab.run("document.querySelector('main').innerText")
        for expected in (
            "User:admin",
            TOPIC,
            "Produce",
            "Catalog offset",
            "worker 0",
            "worker 1",
            authorized.USERS_LISTENER,
            "page-gateway",
        ):
            assert expected in text
        await page.until("LIVE.last.second.gateway[0] > 0 && LIVE.last.second.broker[0] > 0", "it")
        state = await page.tab.run("LIVE.last")
        (cluster,) = state["clusters"]
        assert cluster["reachable"] is cluster["fresh"] is True
        assert cluster["offset"] > 0
        assert 0 <= cluster["age"] < 60
        assert {one["state"] for one in state["gateway"]["workers"]} == {"serves"}
        assert state["gateway"]["problems"] == []
        assert await page.tab.run("document.documentElement.scrollWidth <= innerWidth")
        await page.until("LIVE.history.points.length >= 10", "ten seconds")
        await page.keep(f"live-{width}-{scheme}")


def produces(servers: str, user: str) -> bool:
    """Whether a user may write to the topic."""
    login = authorized.login(user)
    try:
        clients.produce(servers, TOPIC, ["1"], client_id=f"{user}-app", **login)
    except (AssertionError, KafkaException):
        return False
    return True


async def test_the_commands_of_the_page_let_a_client_in(
    gateway: GatewayProcess, tmp_path: Path
) -> None:
    """Whoever does what the page says, and nothing else, gets alice to write."""
    servers = gateway.bootstrap_servers(authorized.USERS_LISTENER)
    login = str(authorized.command_config(tmp_path))
    done: set[str] = set()
    async with opened(gateway, tmp_path) as page:
        for _ in range(ROUNDS):
            if await asyncio.to_thread(produces, servers, "alice"):
                break
            new = await page.until(
                f"{DENIALS}.flatMap((one) => one.commands)"
                f".filter((one) => one.includes('User:alice') && !{sorted(done)!r}.includes(one))",
                "a command for alice",
            )
            if not done:
                await page.keep("live-denied")
            done |= set(new)
            for command in new:
                program, *words = shlex.split(command)
                assert program == "kafka-gateway"
                words = [login if word == "admin.properties" else word for word in words]
                ended = await asyncio.to_thread(namespaces.attempt, *words)
                assert ended.status == 0, ended
        else:
            raise AssertionError(f"alice may still not write after {sorted(done)}")
    assert done
    assert not any("ALL" in command.upper().split() for command in done)
    assert not await asyncio.to_thread(produces, servers, "bob")
