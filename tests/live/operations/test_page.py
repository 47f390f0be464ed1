"""The page of a real gateway in a real browser: it shows clients' work, and its advice helps.

KAFKA_GATEWAY_SCREENSHOTS names a folder for its pictures, to look at.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from devkit.broker import KafkaCluster
from devkit.browser import Page, kept_browser
from devkit.chromium import chromium
from devkit.gateway_process import GatewayProcess
from devkit.ports import free_port
from devkit.topics import create_topics
from tests.live.support import authorized, clients, namespaces

TOPIC, GROUP = "retail:orders:created", "retail:billing"
ROUNDS = 12
"""The most denials in turn until a client may do its work."""

DENIALS = """
[...document.querySelectorAll("#denials li")].map((item) => ({
  what: item.querySelector(".what strong").textContent,
  commands: [...item.querySelectorAll("code")].map((code) => code.textContent),
}))
"""


@pytest.fixture(scope="module", autouse=True)
def _browser_is_here() -> None:
    """Fetch the browser once, within the first test's time."""
    chromium()


def found_by_id() -> dict[str, Any]:
    """Settings of a gateway whose page other gateways find by its id, which is the port here."""
    port = free_port()
    metrics = {"port": port, "fleet_url": "http://127.0.0.1:{gateway_id}/"}
    return {"gateway_id": str(port), "metrics": metrics}


@pytest.fixture(scope="module")
def gateway(
    kafka: KafkaCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    """A gateway with two workers, where users log in and are subject to ACLs."""
    listener = authorized.listener(tmp_path_factory.mktemp("secrets"))
    spaces = ["retail:orders", "retail:idle"]
    process = authorized.gateway(
        kafka.bootstrap_servers,
        listener,
        spaces,
        workers=2,
        policies={"everywhere": {"partitions": {"max": 6}}},
        **found_by_id(),
    )
    with process:
        servers = process.bootstrap_servers(authorized.USERS_LISTENER)
        create_topics(authorized.admin(servers), [NewTopic(TOPIC, 1)])
        yield process
        authorized.delete_acls(servers)  # later files share the catalog


@pytest.fixture
def busy(gateway: GatewayProcess) -> Iterator[str]:
    """The address of the gateway, while an administrator produces all the time."""
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
        """Save a picture of the whole page, if a folder is named."""
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
    """The page, which must log no error and send requests to no other server."""
    start = f"http://127.0.0.1:{gateway.plan.metrics_port}/"
    async with kept_browser() as browser, browser.page() as tab:
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
        row = "document.querySelector('tr[data-key=\"retail:orders::created\"]')"
        await page.until(f"{row} && !{row}.cells[2].classList.contains('zero')", "the topic")
        await page.until("document.querySelector('#clients').innerText.includes('checkout')", "it")
        # A namespace without traffic comes from the catalog.
        await page.until("!!document.querySelector('tr[data-key=\"retail:idle\"]')", "the catalog")
        for expected in (
            "User:admin",
            TOPIC,
            "Produce",
            "Catalog offset",
            "worker 0",
            "worker 1",
            authorized.USERS_LISTENER,
            str(gateway.plan.metrics_port),
        ):
            has = f"document.querySelector('main').innerText.includes({json.dumps(expected)})"
            await page.until(has, expected)
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
    """If a user runs exactly the commands of the page, alice can write."""
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


def asks(servers: str, user: str, client_id: str, password: str | None = None) -> AdminClient:
    """An admin client with an id of its own."""
    login = {**authorized.login(user), "client_id": client_id}
    if password is not None:
        login["sasl_password"] = password
    settings = {name.replace("_", "."): value for name, value in login.items()}
    return AdminClient({"bootstrap.servers": servers, **settings})


async def test_a_failed_login_and_a_violation_name_the_client(
    gateway: GatewayProcess, tmp_path: Path
) -> None:
    servers = gateway.bootstrap_servers(authorized.USERS_LISTENER)
    deployer = asks(servers, authorized.ADMIN, "deployer")
    wide = deployer.create_topics([NewTopic("retail:orders:wide", 12)])
    with pytest.raises(KafkaException) as denied:
        await asyncio.to_thread(clients.done, wide)
    assert denied.value.args[0].code() == KafkaError.POLICY_VIOLATION
    stranger = asks(servers, "bob", "stranger", "guessed")
    with pytest.raises(KafkaException):
        await asyncio.to_thread(stranger.list_topics, timeout=3)
    async with opened(gateway, tmp_path) as page:
        rows = await page.until(
            "(() => { const rows = [...document.querySelectorAll('#logins tbody tr')]"
            ".map((row) => row.innerText); return rows.length && rows; })()",
            "the failed login",
        )
        del stranger  # it has retried, and may have got less far before
        assert ["bob" in row and "127.0.0.1" in row and "PLAIN" in row for row in rows] == [True]
        violations = await page.until(
            "(() => { const found = [...document.querySelectorAll('#denials li')]"
            ".map((one) => one.innerText).filter((text) => text.includes('retail:orders:wide'));"
            " return found.length && found; })()",
            "the violation",
        )
        (violation,) = violations
        assert "client deployer" in violation
        assert "POLICY_VIOLATION" in violation
        assert "partitions.max" in violation
        await page.keep("live-refused")


async def test_a_fleet_is_summed_up(
    gateway: GatewayProcess, kafka: KafkaCluster, tmp_path: Path
) -> None:
    (tmp_path / "secrets").mkdir()
    listener = authorized.listener(tmp_path / "secrets")
    with authorized.gateway(kafka.bootstrap_servers, listener, **found_by_id()) as second:
        clients_of = [
            asks(each.bootstrap_servers(authorized.USERS_LISTENER), authorized.ADMIN, "busy")
            for each in (gateway, second)
        ]
        for each in clients_of:
            await asyncio.to_thread(each.list_topics, timeout=60)
        ids = [str(each.plan.metrics_port) for each in (gateway, second)]
        async with opened(gateway, tmp_path) as page:
            rows = await page.until(
                "(() => { const rows = [...document.querySelectorAll('#fleet tbody tr')].map("
                "(row) => [...row.cells].map((cell) => cell.textContent));"
                " return rows.some((row) => row[0] === 'All' && Number(row[6]) > 1) && rows; })()",
                "the sum",
            )
            shown = {row[0]: row for row in rows}
            # The gateway may still remember another test's gateway of this Kafka.
            assert {*ids, "All"} <= set(shown)
            assert shown[ids[0]][1] == "this gateway"
            assert shown[ids[1]][1] == "up"
            assert int(shown["All"][6]) == sum(int(shown[each][6]) for each in ids)
            links = "[...document.querySelectorAll('#fleet a')].map((link) => link.href)"
            assert f"http://127.0.0.1:{ids[1]}/" in await page.tab.run(links)
            await page.keep("live-fleet")
        assert clients_of  # their connections are open until here
