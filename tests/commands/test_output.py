"""gateway.commands.output, errors and answers: the text that is printed."""

from __future__ import annotations

import argparse
import asyncio
import json

import pytest

from gateway.commands import output
from gateway.commands.answers import Config, Synonym, config_lines, configs_json, source_name
from gateway.commands.errors import Outcome, print_error, rejection, with_address
from gateway.commands.output import Progress, counted, print_json, shortened, table
from tests.commands.fake_gateway import FakeGateway
from tests.commands.running import command


def test_rejections() -> None:
    outcome = Outcome("org:", 36, "TOPIC_ALREADY_EXISTS", "Namespace 'org' already exists.")
    assert rejection("namespace 'org'", "created", outcome) == (
        "namespace 'org' was not created: Namespace 'org' already exists. [TOPIC_ALREADY_EXISTS]; "
        "choose another name"
    )
    assert rejection("namespace 'org'", "created", outcome, "go home").endswith("; go home")
    silent = Outcome("a", -1, "UNKNOWN_SERVER_ERROR", "")
    assert rejection("topic 'a'", "moved", silent) == (
        "topic 'a' was not moved: the gateway gives no reason [UNKNOWN_SERVER_ERROR]"
    )


def test_every_line_of_an_error_has_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    print_error("one\ntwo")
    assert capsys.readouterr() == ("", "kafka-gateway: one\nkafka-gateway: two\n")


HOSTILE = "\x1b[2Ka\nb\r\x9b1A\u202ec\ud800"
"""The name that a client may give a group, which a terminal would obey."""


def test_no_name_moves_the_cursor_or_begins_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    lines = table([("group", "state"), (HOSTILE, "Stable")]).split("\n")
    assert len(lines) == 2
    assert all(line.isprintable() for line in lines)
    print_error(f"group '{HOSTILE}' is new")
    assert all(line.isprintable() for line in capsys.readouterr().err.split("\n"))
    print_json({"group": HOSTILE})
    out = capsys.readouterr().out
    assert all(line.isprintable() for line in out.split("\n"))
    assert json.loads(out) == {"group": HOSTILE}


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"ä": [1]})
    out = capsys.readouterr().out
    assert json.loads(out) == {"ä": [1]}
    assert "ä" in out


def test_tables_and_numbers() -> None:
    assert table([("a", "bb"), ("ccc", "d"), ("e", "")]) == "a    bb\nccc  d\ne"
    assert [counted(number, "topic") for number in (0, 1, 2000)] == [
        "0 topics",
        "1 topic",
        "2,000 topics",
    ]
    assert counted(2, "alias", "aliases") == "2 aliases"
    assert shortened(map(str, range(3))) == "0, 1, 2"
    assert shortened(map(str, range(12))) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more"


def test_configs() -> None:
    configs = [
        Config("a", "1", 1, False, False, (Synonym("a", "1", 1), Synonym("log.a", "2", 5))),
        Config("password", None, 4, True, True),
    ]
    assert config_lines(configs) == [
        "  a=1 sensitive=false source=DYNAMIC_TOPIC_CONFIG "
        "synonyms={DYNAMIC_TOPIC_CONFIG:a=1, DEFAULT_CONFIG:log.a=2}",
        "  password=null sensitive=true source=STATIC_BROKER_CONFIG synonyms={}",
    ]
    secret = configs_json(configs)[1]
    assert (secret["value"], secret["sensitive"], secret["read_only"]) == (None, True, True)
    assert source_name(77) == "UNKNOWN"


def test_a_hint_can_be_copied() -> None:
    text = "no; kafka-gateway topics --list, kafka-gateway configs --all; kafka-gateway catalog"
    options = argparse.Namespace(bootstrap_server=["a:1", "b:2"], command_config=None)
    assert with_address(text, options) == (
        "no; kafka-gateway topics --bootstrap-server a:1,b:2 --list, "
        "kafka-gateway configs --bootstrap-server a:1,b:2 --all; kafka-gateway catalog"
    )
    assert with_address(text, argparse.Namespace()) == text


async def test_hints_have_the_address_that_was_given() -> None:
    async with FakeGateway("org").add("a") as gateway:
        at = ["topics", "--bootstrap-server", gateway.address]
        where = f"kafka-gateway topics --bootstrap-server {gateway.address} --"
        said = await command(*at, "--describe", "--topic", "org:no")
        assert said.err.endswith(f"see what does: {where}list --namespace org\n")
        said = await command(*at, "--adopt", "--topic", "no", "--to-namespace", "org")
        assert said.err.endswith(f'{where}list --namespace "" --recursive\n')


# -- progress: a line on standard error now and then ---------------------------------------------


async def test_what_is_over_soon_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert output.INTERVAL == 2.0
    async with Progress("deleting namespace 'org'"):
        await asyncio.sleep(0)
    assert capsys.readouterr() == ("", "")


async def test_what_takes_long_tells_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(output, "INTERVAL", 0.01)
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
