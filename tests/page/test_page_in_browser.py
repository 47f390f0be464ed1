"""The page in Chromium: desktop and phone, light and dark, by keyboard, and when errors occur.

KAFKA_GATEWAY_SCREENSHOTS names a folder for its pictures, to look at.
"""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Any

import pytest

from devkit.chromium import chromium
from gateway.counts import Row
from gateway.page import files, serving
from gateway.page.observed import Observed, Traffic, TrafficKey
from tests.config import config_samples
from tests.page.opened import DESKTOP, PHONE, Opened, opened
from tests.page.samples import SampleGateway
from tests.waiting import eventually

NOTHING = "\u2013"
HOSTILE = "<img src=x onerror='window.hacked = 1'><script>window.hacked = 2</script>"

CONTRAST = """
(() => {
  const luminance = (color) => {
    const parts = color.match(/[\\d.]+/g).slice(0, 3).map((one) => one / 255)
      .map((one) => (one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const ratio = (one, other) => {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const surface = getComputedStyle(document.querySelector("section")).backgroundColor;
  return Object.fromEntries(["td", ".lead", "dt", "th", "td.zero", ".bad dd", "#errors td",
    ".facts", "code", ".badge"].map((selector) => {
      const node = document.querySelector(selector);
      const back = selector === "code" ? getComputedStyle(node).backgroundColor : surface;
      return [selector, ratio(getComputedStyle(node).color, back)];
    }));
})()
"""

CUT_OFF = """
[...document.querySelectorAll("main *, header *")].filter((node) => {
  if (!node.childElementCount && node.textContent.trim() && node.tagName !== "CAPTION") {
    const box = node.getBoundingClientRect();
    const hidden = getComputedStyle(node.closest("thead") || node).position === "absolute";
    return !hidden && box.width > 0 && (box.left < -1 || box.right > innerWidth + 1);
  }
  return false;
}).map((node) => `${node.tagName} ${node.textContent}`)
"""


@pytest.fixture(scope="module", autouse=True)
def _browser_is_here() -> None:
    """Fetched once, in the first test's time."""
    chromium()


async def keep(page: Opened, name: str) -> bytes:
    """A picture of the whole page, kept if a folder is named for it."""
    height = await page.tab.run("document.documentElement.scrollHeight")
    width = await page.tab.run("innerWidth")
    await page.tab.resize(width, min(height + 10, 8_000))
    picture = await page.tab.screenshot()
    folder = os.environ.get("KAFKA_GATEWAY_SCREENSHOTS")
    if folder:
        (Path(folder) / f"{name}.png").write_bytes(picture)
    return picture


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
async def test_everything_is_there(tmp_path: Path, size: tuple[int, int], scheme: str) -> None:
    async with opened(tmp_path, size=size, scheme=scheme, every=0.02) as page:
        await page.until("LIVE.history.points.length >= 15", "some figures")
        assert await page.text("#status-text") == "Live"
        assert await page.text("#gateway") == "gw"
        if size is PHONE:
            shown = (
                "[...document.querySelectorAll('#clients tbody tr')].filter((r) => r.offsetParent)"
            )
            assert await page.tab.run(f"{shown}.length") == 5
            await page.tab.run("document.querySelector('#clients .all').click()")
        for section, expected in {
            "#figures": ["MiB/s", "records/s", "71 connections"],
            "#namespaces": ["analytics", "clicks", "sepa", "(default)", "legacy-events"],
            "#clients": ["edge-collector", "User:spark", "shop:payments:cards:captured"],
            "#apis": ["Produce", "Fetch", "µs", "ms", "Gateway p99"],
            "#errors": ["LEADER_NOT_AVAILABLE", "shop:orders"],
            "#denials": [
                "User:sam is not allowed to WRITE topic 'shop:orders:created'.",
                "--add --allow-principal User:sam --operation Write --topic shop:orders:created",
                "28 times",  # 14 at each of two workers
                "policies.namespaces.analytics",
                "client edge-deploy",
            ],
            "#logins": ["billing", "10.1.4.40", "SCRAM-SHA-512", "the password is wrong", "66"],
            "#clusters": ["main", "Catalog offset", "1,90", "Catalog age", "Catalog format"],
            "#workers": ["Version 0.1.0, compiled form", "4711", "31", "colon"],
            "#fleet": ["gw-b", "gw-b.example.org:9300"],
        }.items():
            text = (await page.text(section)).replace("\u00a0", " ")
            for one in expected:
                assert one in text, (section, one, text)
        drawn = "[...document.querySelectorAll('.chart canvas')].map((one) => one.width > 200)"
        assert await page.tab.run(drawn) == [True] * 3
        labels = "[...document.querySelectorAll('.chart')].map((one) => one.ariaLabel)"
        assert all("Now: " in label for label in await page.tab.run(labels))
        assert await page.tab.run("document.documentElement.scrollWidth <= innerWidth")
        assert await page.tab.run(CUT_OFF) == []
        ratios = await page.tab.run(CONTRAST)
        assert {name: ratio for name, ratio in ratios.items() if ratio < 4.5} == {}
        picture = await keep(page, f"page-{'desktop' if size is DESKTOP else 'phone'}-{scheme}")
        assert len(picture) > 20_000


@pytest.mark.parametrize("width", [1280, 390])
async def test_requests_without_a_topic_are_shown_by_their_namespace(
    tmp_path: Path, width: int
) -> None:
    """Like CreateTopics, DeleteTopics and CreateAcls, which the gateway carries out itself."""
    rows = "[...document.querySelectorAll('#{} tbody tr')].map((r) => r.children[2].innerText)"
    async with opened(tmp_path, size=(width, 900), every=0.02) as page:
        await page.until("LIVE.history.points.length >= 15", "some figures")
        if width == 390:
            await page.tab.run("document.querySelector('#clients .all').click()")
        topics = await page.tab.run(rows.format("clients"))
        assert {"shop:orders:", "(default)", "(no namespace)"} <= set(topics)
        assert "(no namespace)" in await page.tab.run(rows.format("errors"))
        assert "(no topic)" not in await page.text("main")
        assert await page.tab.run(CUT_OFF) == []
        await keep(page, f"page-no-topic-{width}")


@pytest.mark.parametrize("width", [1920, 1240, 1201, 1000, 800, 721, 360])
async def test_no_width_cuts_anything_off(tmp_path: Path, width: int) -> None:
    async with opened(tmp_path, size=(width, 900)) as page:
        await page.until("document.querySelectorAll('#clients tbody tr').length > 5", "rows")
        assert await page.tab.run("document.documentElement.scrollWidth <= innerWidth")
        wide = (
            "[...document.querySelectorAll('.table')].filter((b) => b.scrollWidth > b.clientWidth)"
        )
        assert await page.tab.run(f"{wide}.map((box) => box.closest('section').id)") == []
        assert await page.tab.run(CUT_OFF) == []


async def test_the_scheme_is_the_system_s_and_can_be_chosen(tmp_path: Path) -> None:
    def background() -> str:
        return "getComputedStyle(document.body).backgroundColor"

    async with opened(tmp_path, scheme="dark") as page:
        dark = await page.tab.run(background())
        await page.tab.media(scheme="light")
        light = await page.tab.run(background())
        assert (light, dark) == ("rgb(244, 246, 248)", "rgb(16, 20, 26)")
        press = "document.getElementById('theme').click()"
        for name, expected in (("Light", light), ("Dark", dark)):
            await page.tab.run(press)
            assert await page.text("#theme") == name
            assert await page.tab.run(background()) == expected
        await page.tab.open(f"http://127.0.0.1:{page.server.port}/")
        assert await page.text("#theme") == "Dark"
        assert await page.tab.run(background()) == dark
        await page.tab.run(press)
        assert await page.text("#theme") == "Auto"
        assert await page.tab.run(background()) == light


ROW = "document.activeElement.closest('tr')"


async def test_the_tree_by_keyboard(tmp_path: Path) -> None:
    async with opened(tmp_path) as page:
        await page.until("document.querySelectorAll('[role=treegrid] tbody tr').length > 8", "rows")
        stops = "document.querySelectorAll('[role=treegrid] tr[tabindex=\"0\"]').length"
        assert await page.tab.run(stops) == 1
        await page.tab.run("document.querySelector('[role=treegrid] tr[tabindex=\"0\"]').focus()")

        async def here() -> tuple[str, str, str]:
            found = await page.tab.run(
                f"[{ROW}.dataset.key, {ROW}.ariaLevel, {ROW}.ariaExpanded || '']"
            )
            key, level, expanded = found
            return key, level, expanded

        assert await here() == ("analytics", "1", "true")
        await page.press("ArrowRight")
        assert await here() == ("analytics:clicks", "2", "true")
        await page.press("ArrowDown")
        assert await here() == ("analytics:clicks::raw", "3", "")
        await page.press("ArrowLeft")
        assert await here() == ("analytics:clicks", "2", "true")
        await page.press("ArrowLeft")
        assert await here() == ("analytics:clicks", "2", "false")
        await page.press("ArrowDown")
        assert await here() == ("shop", "1", "true")
        await page.press("End")
        assert (await here())[1] == "1"
        await page.press("Home")
        assert await here() == ("analytics", "1", "true")
        await page.press("Enter")
        assert await here() == ("analytics", "1", "false")
        # The next figures change neither the focus nor the open rows.
        seen = await page.tab.run("LIVE.last.time")
        await page.until(f"LIVE.last.time > {seen} + 400", "more figures")
        assert await here() == ("analytics", "1", "false")
        assert await page.tab.run(stops) == 1
        outline = f"getComputedStyle({ROW}).outlineStyle"
        assert await page.tab.run(outline) != "none"


async def test_of_many_namespaces_those_with_traffic_are_open(tmp_path: Path) -> None:
    def many(state: dict[str, Any]) -> dict[str, Any]:
        idle = [f"idle-{number}:{tier}" for number in range(40) for tier in range(14)]
        (cluster,) = state["clusters"]
        return {**state, "clusters": [{**cluster, "namespaces": [*cluster["namespaces"], *idle]}]}

    gateway = SampleGateway(tmp_path)
    gateway.change = many
    async with opened(tmp_path, gateway=gateway) as page:
        row = "document.querySelector('tr[data-key=\"shop:payments:cards::captured\"]')"
        await page.until(f"!!{row}", "a topic on the third level")
        assert await page.tab.run("!!document.querySelector('tr[data-key=\"idle-7\"]')")
        assert not await page.tab.run("!!document.querySelector('tr[data-key=\"idle-7:1\"]')")


async def test_all_can_be_reached_by_tab_and_shows_that_it_is(tmp_path: Path) -> None:
    async with opened(tmp_path) as page:
        await page.until("document.querySelectorAll('.copy').length >= 3", "commands")
        await page.press("Tab")
        assert await page.tab.run("document.activeElement.className") == "skip"
        reached: list[str] = []
        for _ in range(60):
            await page.press("Tab")
            told = await page.tab.run(
                "[document.activeElement.id || document.activeElement.tagName + ' ' +"
                " (document.activeElement.className || document.activeElement.textContent),"
                " getComputedStyle(document.activeElement).outlineStyle !== 'none']"
            )
            if told[0].startswith("BODY"):
                break
            reached.append(told[0])
            assert told[1], told[0]
        assert {"pause", "theme", "A Denials", "CODE ", "BUTTON copy"} <= {
            "CODE " if one.startswith("CODE") else one for one in reached
        }
        assert reached.count("BUTTON copy") == 3
        # Every button can be pressed without a mouse.
        odd = "document.querySelectorAll('main [onclick], main a:not([href])').length"
        assert await page.tab.run(odd) == 0


@pytest.mark.long("kills")
async def test_a_gateway_that_goes_away_and_comes_back(tmp_path: Path) -> None:
    async with opened(tmp_path, quiet=False) as page:
        await page.until("LIVE.history.points.length >= 3", "some figures")
        await page.server.stop()
        await page.until("document.body.classList.contains('stale')", "a sign that it is gone")
        told = await page.until(
            "/Reconnecting|does not answer/.test(document.getElementById('status-text').innerText)"
            " && document.getElementById('status-text').innerText",
            "a word on it",
        )
        assert "Figures are of" in told
        await page.tab.run("new Promise((done) => setTimeout(() => done(1), 300))")
        assert (
            float(await page.tab.run("getComputedStyle(document.querySelector('main')).opacity"))
            < 1
        )
        await keep(page, "page-reconnecting")
        await asyncio.sleep(4)  # if it is longer than a late state, it is a gap in the curves
        await page.server.start()
        await page.until(
            "document.getElementById('status-text').innerText === 'Live'", "the figures"
        )
        assert await page.tab.run("document.body.classList.contains('stale')") is False
        assert await page.tab.run("LIVE.history.points.some((one) => one.gap)") is True


@pytest.mark.long("kills")
async def test_a_gateway_that_has_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(tmp_path, quiet=False) as page:
        page.feed._most = 0
        await page.tab.run("(LIVE.disconnect('lost', ''), LIVE.connect(), 1)")
        told = await page.until(
            "document.getElementById('status').dataset.state === 'lost' &&"
            " document.getElementById('status-text').innerText",
            "a word on it",
        )
        assert told == serving._TOO_MANY.strip()
        page.feed._most = 5
        await page.until(
            "document.getElementById('status-text').innerText === 'Live'", "another try"
        )


async def test_nothing_happens_and_it_is_said_so(tmp_path: Path) -> None:
    gateway = SampleGateway(tmp_path)
    gateway.quiet = True
    async with opened(tmp_path, gateway=gateway) as page:
        empty = await page.tab.run(
            "[...document.querySelectorAll('.empty')].filter((one) => one.offsetParent)"
            ".map((one) => one.textContent)"
        )
        assert [one.partition(".")[0] for one in empty] == [
            "There is no namespace, and no traffic",
            "No client has sent a request in the last ten seconds",
            "No request in the last ten seconds",
            "No response had an error code",
            "Nothing was denied",
            "No login failed",
            "No worker has told of a cluster yet",
            "The catalog has not been read yet",
        ]
        assert "NaN" not in await page.text("main")
        assert "undefined" not in await page.text("main")
        await keep(page, "page-empty")


async def test_problems_are_said(tmp_path: Path) -> None:
    gateway = SampleGateway(tmp_path)

    def broken(state: dict[str, Any]) -> dict[str, Any]:
        state["gateway"]["problems"] = ["worker 1 is not running"]
        state["gateway"]["warnings"] = ["cluster 'ny' is not known to be reachable"]
        state["gateway"]["workers"][1].update(state="is not running", cpu=None, resident=None)
        for cluster in state["clusters"]:
            cluster.update(reachable=False, fresh=False, age=91.0, damaged=2)
            cluster.update(gateways_down=["gw-b"])
        return state

    gateway.change = broken
    async with opened(tmp_path, gateway=gateway) as page:
        await page.until("document.querySelectorAll('#clusters .card').length", "the cluster")
        assert "worker 1 is not running" in await page.text("#alerts")
        assert "cluster 'ny' is not known to be reachable" in await page.text("#alerts")
        assert "not reachable" in await page.text("#clusters")
        assert "Damaged entities" in await page.text("#clusters")
        assert "gw-b accepts no connection." in await page.text("#fleet")
        rows = await page.tab.run(
            "[...document.querySelectorAll('#fleet tbody tr')].map((row) => row.innerText)"
        )
        assert [row.split("\t")[:2] for row in rows] == [
            ["gw", "not ready"],
            ["gw-b", "accepts no connection"],
        ]
        # It reports that it does not serve, so there is no green "Live".
        assert await page.text("#status-text") == "Not ready"
        dot = "getComputedStyle(document.querySelector('#status .dot')).backgroundColor"
        bad = "getComputedStyle(document.querySelector('#fleet .lead.bad')).color"
        assert await page.tab.run(dot) == await page.tab.run(bad)
        assert "is not running" in await page.text("#workers")
        await keep(page, "page-problems")


async def test_names_that_are_markup_are_only_names(tmp_path: Path) -> None:
    gateway = SampleGateway(tmp_path)
    gateway.quiet = True
    key = TrafficKey("main", HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE)
    odd = key._replace(namespace="__proto__", topic="constructor", client_id="\u202eabc")
    long = key._replace(namespace="a", topic="x" * 249, client_id="y" * 300)
    denial = {
        "count": 1,
        "time": 1,
        "rule": "acl",
        "principal": HOSTILE,
        "listener": HOSTILE,
        "cluster": "",
        "mount": None,
        "address": HOSTILE,
        "client_id": HOSTILE,
        "api": "Fetch",
        "error": HOSTILE,
        "operation": "READ",
        "named": f"GROUP {HOSTILE}",
        "resource": HOSTILE,
        "message": HOSTILE,
        "because": HOSTILE,
    }
    rows = [(one, Traffic(5, 6, 7, 8, 9)) for one in (key, odd, long)]
    inner = gateway.ask

    def ask() -> None:
        inner()
        gateway.window.add(7, Observed(1.0, rows, denials=[denial]))

    gateway.ask = ask  # type: ignore[method-assign]
    async with opened(tmp_path, gateway=gateway, size=PHONE) as page:
        await page.until("document.querySelectorAll('#denials li').length", "the denial")
        for section in ("#namespaces", "#clients", "#denials"):
            assert HOSTILE in (await page.text(section)).replace("\n", ""), section
        assert await page.tab.run("typeof window.hacked") == "undefined"
        assert await page.tab.run("document.querySelectorAll('main img, main script').length") == 0
        assert await page.tab.run("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.long("kills")
async def test_a_page_that_stays_open_does_not_grow(tmp_path: Path) -> None:
    async with opened(tmp_path, every=0.02) as page:
        # Points of a second in a quarter of an hour; here one each 20 ms, in 6 s.
        await page.tab.run("(LIVE.history.seconds = 6, 1)")

        async def size(states: int) -> tuple[int, int, float]:
            await page.until(f"(LIVE.seen_states || 0) >= {states}", f"{states} states")
            # With the stream closed, because states that are being read are no growth.
            await page.tab.run("(LIVE.disconnect('paused', ''), 1)")
            await page.tab.settle()
            for _ in range(2):
                await page.tab.call("HeapProfiler.collectGarbage")
            heap = await page.tab.call("Runtime.getHeapUsage")
            nodes = await page.tab.run("document.querySelectorAll('*').length")
            points = await page.tab.run("LIVE.history.points.length")
            await page.tab.run("(LIVE.connect(), 1)")
            return nodes, points, heap["usedSize"]

        await page.tab.run(
            "(() => { const take = LIVE.take.bind(LIVE); LIVE.seen_states = 0;"
            " LIVE.take = (state) => { LIVE.seen_states += 1; take(state); }; })()"
        )
        nodes, points, heap = await size(350)
        assert points <= 301
        # A browser that has no processor for a while has states that it has not read yet.
        later = [await size(states) for states in range(1_050, 1_250, 50)]
        assert max(each_points for _, each_points, _ in later) <= 301
        # A row that had no traffic in the last ten reports may have come.
        assert min(each_nodes for each_nodes, _, _ in later) <= nodes + 30
        assert min(each_heap for _, _, each_heap in later) < 1.25 * heap


async def test_who_does_not_look_asks_for_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as page:
        await page.tab.run("document.getElementById('pause').click()")
        await eventually(lambda: page.feed.open == 0, "the end of the stream")
        assert await page.text("#status-text") == "Paused"
        await page.tab.run("document.getElementById('pause').click()")
        await page.until("document.getElementById('status-text').innerText === 'Live'", "figures")
        # A hidden page rests after a while, and goes on when it is seen.
        await page.tab.run(
            "Object.defineProperty(document, 'hidden', { get: () => window.away });"
            "window.away = true; window.setTimeout = (what) => what();"
            "document.dispatchEvent(new Event('visibilitychange'))"
        )
        await eventually(lambda: page.feed.open == 0, "the end of the stream")
        assert await page.text("#status-text") == "Paused while hidden"
        await page.tab.run(
            "window.away = false; document.dispatchEvent(new Event('visibilitychange'))"
        )
        await page.until("document.getElementById('status-text').innerText === 'Live'", "figures")
        assert page.feed.open == 1


async def test_without_curves_it_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "find_spec", lambda _: None)
    async with opened(tmp_path) as page:
        assert "ECharts is not installed" in await page.text("#chart-bytes")
        assert "edge-collector" in await page.text("#clients")


def in_a_tree(state: dict[str, Any]) -> dict[str, Any]:
    """The sample's namespaces below a mount, with errors, and a cluster that is down beside it."""
    (cluster,) = state["clusters"]
    for row in state["namespaces"]["rows"] + state["topics"]["rows"]:
        if row["path"] is not None:
            row.update(cluster="la", path=f"la:tracking:{row['path']}".rstrip(":"), errors=13.5)
    mounted = [
        {**cluster, "name": name, "mount": f"{name}:tracking", "number": number}
        for number, name in enumerate(("la", "ny"), 1)
    ]
    for each in mounted:
        each["namespaces"] = [f"{each['mount']}:{one}" for one in cluster["namespaces"]]
    mounted[1]["reachable"] = False
    la, ny = state["tree"]["rows"]
    la.update(state="ok", requests=900.0, bytes_in=7e6)
    ny.update(state="not reachable")
    return {**state, "clusters": mounted}


NARROW = """
[...document.querySelectorAll("td.name .text")].filter((node) => node.offsetParent)
  .filter((node) => node.textContent.length > 2 && node.offsetWidth < node.offsetHeight / 2)
  .map((node) => node.textContent)
"""


@pytest.mark.parametrize("width", [1280, 390])
async def test_a_tree(tmp_path: Path, width: int) -> None:
    gateway = SampleGateway(tmp_path)
    gateway.config = config_samples.tree(tmp_path)
    gateway.change = in_a_tree
    async with opened(tmp_path, size=(width, 900), gateway=gateway) as page:
        await page.until(
            "!!document.querySelector('tr[data-key=\"la:tracking:shop:orders::created\"]')", "a row"
        )
        assert "13.5 errors/s" in await page.text("#namespaces")
        assert await page.tab.run(NARROW) == []
        # A name has its line or two, however long the texts are.
        lines = (
            "[...document.querySelectorAll('td.name .text')].filter((node) => node.offsetParent)"
            ".map((node) => node.getClientRects().length && Math.round(node.offsetHeight / 20))"
        )
        assert max(await page.tab.run(lines)) <= 2
        wide = (
            "[...document.querySelectorAll('.table')].filter((b) => b.scrollWidth > b.clientWidth)"
        )
        assert await page.tab.run(f"{wide}.map((box) => box.closest('section').id)") == []
        assert await page.tab.run("document.documentElement.scrollWidth <= innerWidth")
        assert await page.tab.run("document.querySelector('nav a[href=\"#mounts\"]').offsetWidth")
        rows = await page.tab.run(
            "[...document.querySelectorAll('#mounts tbody tr')].map((row) =>"
            " [...row.cells].map((cell) => cell.textContent.replace('\\u00a0', ' ')))"
        )
        assert [(row[0], row[3], row[5], row[6]) for row in rows] == [
            (":la:tracking", "ok", "900", "6.68 MiB"),
            (":ny:tracking", "not reachable", "0", "0 B"),
        ]
        await keep(page, f"page-tree-{width}")


SHOWN = "[...document.querySelectorAll('[role=treegrid] tbody tr')].map((row) => row.dataset.key)"


async def test_two_hundred_namespaces(tmp_path: Path) -> None:
    def many(state: dict[str, Any]) -> dict[str, Any]:
        (cluster,) = state["clusters"]
        names = [*cluster["namespaces"], *(f"a-team-{number:03}" for number in range(200))]
        return {**state, "clusters": [{**cluster, "namespaces": names}]}

    gateway = SampleGateway(tmp_path)
    gateway.change = many
    async with opened(tmp_path, gateway=gateway) as page:
        await page.until(f"{SHOWN}.length > 200", "all")
        # The busiest come first, the idle rows by name.
        shown = await page.tab.run(SHOWN)
        first_level = [key for key in shown if ":" not in key]
        assert first_level[:3] == ["analytics", "shop", "a-team-000"]
        await page.tab.run("document.querySelector('.tools button').click()")
        busy = await page.tab.run(SHOWN)
        assert [key for key in busy if key.startswith(("a-team", "hr"))] == []
        assert {"analytics:clicks::raw", "shop:payments:cards::captured"} <= set(busy)
        await page.tab.run("document.querySelector('.tools button').click()")

        async def wanted(text: str) -> list[str]:
            await page.tab.run(
                "(() => { const filter = document.querySelector('.tools input');"
                f" filter.value = '{text}'; filter.dispatchEvent(new Event('input')); }})()"
            )
            found: list[str] = await page.tab.run(SHOWN)
            return found

        assert await wanted("TEAM-17") == [f"a-team-{number:03}" for number in range(170, 180)]
        # The rows above and inside a match are there, and open.
        assert await wanted("sepa") == ["shop", "shop:payments", "shop:payments:sepa"]
        assert await wanted("orders") == [
            "shop",
            "shop:orders",
            "shop:orders::created",
            "shop:orders::cancelled",
        ]
        assert await wanted("shop:orders:canc") == ["shop", "shop:orders", "shop:orders::cancelled"]
        assert await wanted("nowhere") == []
        assert "No namespace and no topic here is like that." in await page.text("#namespaces")


async def test_a_fleet(tmp_path: Path) -> None:
    url = "https://{gateway_id}.example.org"
    gateway = SampleGateway(tmp_path, metrics={"fleet_url": url})
    second = {"requests": 300.0, "bytes_in": 1024.0, "bytes_out": 2048.0, "errors": 1, "denials": 0}
    for name in ("gw", "gw-b"):
        gateway.fleet[name] = {"ready": True, "connections": 10, "second": second}
    gateway.fleet["gw-c"] = {"problem": "no connection"}

    def three(state: dict[str, Any]) -> dict[str, Any]:
        (cluster,) = state["clusters"]
        one = cluster["gateways"][0]
        gateways = [{**one, "id": name} for name in ("gw", "gw-b", "gw-c")]
        gateways.append({**one, "id": "gw-d", "addresses": {}})
        pages = {each["id"]: {"page": f"https://{each['id']}.example.org/"} for each in gateways}
        figures = {name: {**pages[name], **gateway.fleet.get(name, {})} for name in pages}
        changed = {**cluster, "gateways": gateways, "gateways_down": ["gw-c"]}
        return {**state, "clusters": [changed], "fleet": figures}

    gateway.change = three
    async with opened(tmp_path, gateway=gateway, size=(1280, 900)) as page:
        await page.until("document.querySelectorAll('#fleet tbody tr').length === 5", "the fleet")
        rows = await page.tab.run(
            "[...document.querySelectorAll('#fleet tbody tr')].map((row) =>"
            " [...row.cells].map((cell) => cell.textContent.replace('\\u00a0', ' ')).slice(0, 7))"
        )
        assert rows == [
            ["gw-c", "accepts no connection", *[NOTHING] * 5],
            ["gw", "this gateway", "300", "1 KiB", "2 KiB", "1", "10"],
            ["gw-b", "up", "300", "1 KiB", "2 KiB", "1", "10"],
            ["gw-d", "not known", *[NOTHING] * 5],
            ["All", "2 of 4", "600", "2 KiB", "4 KiB", "2", "20"],
        ]
        links = "[...document.querySelectorAll('#fleet a')].map((link) => link.href)"
        assert await page.tab.run(links) == [
            "https://gw-c.example.org/",
            "https://gw-b.example.org/",
            "https://gw-d.example.org/",
        ]
        await keep(page, "page-fleet")


async def test_a_page_that_is_opened_in_an_incident_shows_it(tmp_path: Path) -> None:
    gateway = SampleGateway(tmp_path)
    history, now = gateway.history, time.monotonic()
    # Ten minutes that no page has shown.
    for second in range(600):
        history._now = lambda at=now - 600 + second: at  # type: ignore[misc]
        history._wall = lambda at=second: int(1_000 * (time.time() - 600 + at))  # type: ignore[misc]
        rows: list[Row] = [("requests", ("shop:orders", 0, 9), 900 if second < 300 else 100)]
        if second >= 300:
            rows.append(("errors", ("shop:orders", 0, 7), 5))
        history.count(0, rows)
        history.reported(0, float(second))
    history._now, history._wall = time.monotonic, lambda: int(1_000 * time.time())
    async with opened(tmp_path, gateway=gateway) as page:
        points = await page.tab.run("LIVE.history.points.map((one) => [one.time, one.requests])")
        requests = [count for _, count in points]
        assert 900 in requests and 100 in requests
        assert points[-1][0] - points[0][0] > 590_000
        rows_of = "document.querySelector('#errors tbody').innerText"
        assert "REQUEST_TIMED_OUT" in await page.tab.run(rows_of)
        assert "1,500" in await page.tab.run(rows_of)


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [([90, 410], 50, 500), ([1, 3], 1, 5), ([100, 100], 100, 200), ([80, 900_000], 50, 1_000_000)],
)
async def test_the_axis_of_latency_fits_what_is_there(
    tmp_path: Path, values: list[int], low: int, high: int
) -> None:
    async with opened(tmp_path) as page:
        axis = await page.tab.run(
            f"logSteps(CHARTS[2], [{{ gateway: {values}, broker: [null, null] }}])"
        )
        assert (axis["min"], axis["max"]) == (low, high)
        ticks = axis["axisLabel"]["customValues"]
        assert 2 <= len(ticks) <= 6
        assert low <= ticks[0] and ticks[-1] <= high
