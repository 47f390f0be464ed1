"""devkit.browser: it detects errors in a page, because tests rely on that."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from devkit.browser import BrowserError, Page, open_browser
from devkit.chromium import chromium


@pytest.fixture(scope="module", autouse=True)
def _browser_is_here() -> None:
    """Fetched once, in the first test's time."""
    chromium()


@contextlib.asynccontextmanager
async def opened(directory: Path, body: str) -> AsyncIterator[Page]:
    file = directory / "page.html"
    file.write_text(f"<!DOCTYPE html><meta charset=utf-8><link rel=icon href=data:,>{body}")
    async with open_browser(directory) as browser, browser.page() as tab:
        await tab.open(file)
        yield tab


async def test_a_quiet_page_is_quiet(tmp_path: Path) -> None:
    async with opened(tmp_path, "<p>hello") as tab:
        assert await tab.run("document.querySelector('p').textContent") == "hello"
        assert tab.requests == [(tmp_path / "page.html").as_uri()]
        assert tab.console == tab.errors == []


async def test_what_a_page_asks_for_and_says_is_kept(tmp_path: Path) -> None:
    body = "<img src='http://127.0.0.1:9/x.png'><script>console.warn('mind', 1); gone()</script>"
    async with opened(tmp_path, body) as tab:
        assert "http://127.0.0.1:9/x.png" in tab.requests
        assert tab.console == ["warning: mind 1"]
        assert any("gone is not defined" in error for error in tab.errors)
        assert any("ERR_" in error for error in tab.errors)


async def test_no_name_is_looked_up(tmp_path: Path) -> None:
    async with opened(tmp_path, "<img src='http://example.org/x.png'>") as tab:
        assert any("ERR_NAME_NOT_RESOLVED" in error for error in tab.errors)


async def test_what_a_script_throws_is_raised(tmp_path: Path) -> None:
    async with opened(tmp_path, "") as tab:
        assert await tab.run("new Promise(done => setTimeout(() => done(7), 20))") == 7
        with pytest.raises(BrowserError, match="TypeError"):
            await tab.run("null.x")
        with pytest.raises(BrowserError, match=r"Page\.nothing"):
            await tab.call("Page.nothing")


async def test_sizes_media_pictures_and_paper(tmp_path: Path) -> None:
    async with opened(tmp_path, "<p style='height: 3000px'>hello") as tab:
        await tab.resize(400, 300)
        assert await tab.run("[innerWidth, innerHeight]") == [400, 300]
        for kind, scheme in (("screen", "dark"), ("print", "light")):
            await tab.media(kind, scheme)
            query = f"matchMedia('{kind} and (prefers-color-scheme: {scheme})').matches"
            assert await tab.run(query) is True
        picture = await tab.screenshot(x=0, y=0, width=400, height=3000)
        assert picture[:8] == b"\x89PNG\r\n\x1a\n"
        assert (int.from_bytes(picture[16:20]), int.from_bytes(picture[20:24])) == (400, 3000)
        assert (await tab.pdf()).startswith(b"%PDF-")


async def test_a_browser_that_does_not_start_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho no display >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("KAFKA_GATEWAY_CHROMIUM", str(broken))
    with pytest.raises(BrowserError, match="no display"):
        async with open_browser(tmp_path):
            pass
