"""gateway.commands.told: a line on standard error now and then."""

from __future__ import annotations

import asyncio

import pytest

from gateway.commands import told as progress
from gateway.commands.told import Progress


async def test_what_is_over_soon_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert progress.INTERVAL == 2.0
    async with Progress("deleting namespace 'org'"):
        await asyncio.sleep(0)
    assert capsys.readouterr() == ("", "")


async def test_what_takes_long_tells_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "INTERVAL", 0.01)
    async with Progress("moving topics") as moving:
        await asyncio.sleep(0.05)
        moving.text = "2 of 3"
        await asyncio.sleep(0.05)
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert lines[0] == "moving topics (0 s so far)"
    assert lines[-1] == "moving topics: 2 of 3 (0 s so far)"
    await asyncio.sleep(0.03)
    assert capsys.readouterr().err == ""


async def test_an_error_ends_it() -> None:
    with pytest.raises(ValueError, match="no"):
        async with Progress("x"):
            raise ValueError("no")
    assert len(asyncio.all_tasks()) == 1
