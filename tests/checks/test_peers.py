"""gateway.checks.peers: every peer is asked, at every address, and the mounts behind them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gateway import cli, exit_codes
from gateway.checks import command, peers
from gateway.checks.peer_findings import PeerFindings
from gateway.checks.peers import ask_peers
from gateway.commands import asking
from gateway.commands.output import table
from gateway.config.models import Config
from gateway.config_file.loading import load_config
from gateway.referrals.description import (
    DescribedMount,
    GatewayDescription,
)
from gateway.referrals.peer_link import PeerUnreachable
from gateway.referrals.questions import Answer, Hop, Outcome
from tests.checks.fake_peers import (
    ALL,
    DESCRIPTIONS,
    ROOT,
    Fakes,
    Says,
    config,
    deep,
    described,
    found,
    listeners,
    root,
    shown,
    values,
    written,
)
from tests.config import config_samples


async def test_peers_that_agree(tmp_path: Path) -> None:
    fakes = Fakes()
    result = await ask_peers(config(tmp_path), fakes.link)
    assert (result.problems, result.warnings, result.elsewhere) == ([], [], [])
    assert [(name, question.hops) for name, _, question in fakes.asked] == [
        ("root", 0),
        ("deep", 0),
    ]
    assert fakes.open == 0
    (rows,) = result.tables()
    lines = [line.split() for line in table([(*row[:4], row[5]) for row in rows]).splitlines()]
    assert lines == [
        ["gateway", "role", "address", "gateway", "id", "mounts"],
        ["root", "parent", "127.0.0.1:9500", "root", ":"],
        ["deep", "child", "127.0.0.1:9501", "deep", ":la:deep"],
    ]
    first, second = json.loads(json.dumps(result.as_json()))["peers"]
    assert first["seconds"] >= 0
    assert {**second, "seconds": 0.0} == {
        "name": "deep",
        "role": "child",
        "address": "127.0.0.1:9501",
        "responds": True,
        "seconds": 0.0,
        "gateway_id": "deep",
        "mounts": {"la:deep": 3},
    }


async def test_every_address_is_asked(tmp_path: Path) -> None:
    fakes = Fakes()
    addresses = ["127.0.0.1:9500", "127.0.0.1:9600"]
    parents = [{"name": "root", "addresses": addresses}]
    result = await ask_peers(config(tmp_path, parents=parents), fakes.link)
    assert result.problems == []
    at = [address for name, each, _ in fakes.asked for address in each if name == "root"]
    assert list(map(str, at)) == addresses


async def test_a_peer_that_does_not_respond(tmp_path: Path) -> None:
    gone = PeerUnreachable("Gateway 'deep' does not respond.", reason="127.0.0.1:9501: refused")
    whose = "127.0.0.1:9500: its certificate is that of 'CN=x', not that of 'CN=root'; correct it"
    other = PeerUnreachable("Gateway 'root' does not respond.", reason=whose)
    result = await found(config(tmp_path), root=other, deep=gone)
    assert shown(result.problems) == [
        f"tree.parents[0].addresses[0]: {whose}",
        "tree.children[0].addresses[0]: 127.0.0.1:9501: refused; see that gateway 'deep' runs, "
        "that its tree.listener is there, and that it has this gateway ('CN=gw') among its peers",
    ]
    # No gateway knows who has the mounts.
    assert [line.partition(", ")[0] for line in shown(result.warnings)] == [
        "listeners[0].reach[2]: what is at ':la:deep' is not known: Gateway 'deep' does not respond"
        "; check from a gateway that is nearer to it",
        "listeners[0].volume: what is at ':' is not known: Gateway 'root' does not respond; check "
        "from a gateway that is nearer to it",
    ]
    assert [one["responds"] for one in _peers_of(result)] == [False, False]
    assert _peers_of(result)[0]["mounts"] is None


def _peers_of(result: PeerFindings) -> list[dict[str, Any]]:
    return json.loads(json.dumps(result.as_json()))["peers"]  # type: ignore[no-any-return]


async def test_a_peer_that_says_nothing_of_use(tmp_path: Path) -> None:
    rejects = Answer(Outcome.REJECTED, "It may pass no more gateways.\n")
    junk = Answer(Outcome.ANSWERED, response=b"{}")
    result = await found(config(tmp_path), root=rejects, deep=junk)
    assert shown(result.warnings) == [
        "tree.parents[0].addresses[0]: gateway 'root' responds, but does not describe itself: It "
        "may pass no more gateways.\\n; look into its log, and check from there"
    ]
    assert shown(result.problems)[0] == (
        "tree.children[0].addresses[0]: the description that gateway 'deep' gives of itself lacks "
        "gateway, or has something else there; see that it and this gateway are of one version"
    )


# -- mounts behind peers --------------------------------------------------------------------------


def reaching(directory: Path, path: str) -> Config:
    """A configuration whose first listener reaches a mount that no peer has itself."""
    made = values(directory)
    made["listeners"][0]["reach"] = [*ALL, path]
    return load_config(written(directory, made))


async def test_a_mount_behind_a_peer(tmp_path: Path) -> None:
    far = GatewayDescription("sf", (DescribedMount("sf", 9),), listeners=listeners(*ALL))
    answer = described(far, "sf", 9).by_way_of(Hop("root", 30))
    fakes = Fakes(found={"sf": answer}, says={"root": root(), "deep": deep()})
    result = await ask_peers(reaching(tmp_path, "sf"), fakes.link)
    _, rows = result.tables()
    assert rows == [("mount", "found by way of"), (":sf", "la > root > sf")]
    assert result.as_json()["elsewhere"] == [
        {"mount": "sf", "gateway_id": "sf", "way": ["la", "root", "sf"]}
    ]
    assert (
        "listeners[0].reach: has ':sf', and gateway 'sf', which has that, has no listener with "
        "volume ':' that reaches it, so clients are not led there; give it one"
    ) in shown(result.problems)
    ((name, question),) = [(name, one) for name, _, one in fakes.asked if one.target]
    assert (name, question.target, question.path, question.hops) == ("root", "sf", ("la",), 15)
    assert fakes.open == 0


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (Answer(Outcome.NO_SUCH_MOUNT), "no gateway has a cluster at ':sf'; correct it, or "),
        (
            described(root(), ROOT, 1),
            "no gateway has a cluster at ':sf', which is a path in the one at ':'; correct it, or ",
        ),
    ],
)
async def test_a_mount_that_nobody_has(tmp_path: Path, answer: Answer, problem: str) -> None:
    result = await ask_peers(reaching(tmp_path, "sf"), Fakes(found={"sf": answer}).link)
    (line,) = [line for line in shown(result.problems) if line.startswith("listeners[0].reach[3]")]
    assert line.startswith(f"listeners[0].reach[3]: {problem}")


async def test_a_mount_that_cannot_be_asked_for(tmp_path: Path) -> None:
    answer = Answer(Outcome.UNREACHABLE, "Gateway 'sf' does not respond.")
    result = await ask_peers(reaching(tmp_path, "sf"), Fakes(found={"sf": answer}).link)
    assert shown(result.warnings) == [
        "listeners[0].reach[3]: what is at ':sf' is not known: Gateway 'sf' does not respond; "
        "check from a gateway that is nearer to it"
    ]


# -- the command ----------------------------------------------------------------------------------


async def test_without_a_tree_there_are_no_peers(tmp_path: Path) -> None:
    result = await ask_peers(config_samples.tree(tmp_path))
    assert shown(result.problems) == [
        "tree: is missing, and --peers asks the gateways in it; add it, or leave out --peers"
    ]


Checks = Callable[..., int]


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checks:
    """The command, with peers that have these descriptions. Its ports are not bound, because they
    are the examples'."""

    def run(*flags: str, **says: Says) -> int:
        fakes = Fakes(says={**DESCRIPTIONS, **says})
        monkeypatch.setattr(peers, "ask_peers", lambda made: ask_peers(made, fakes.link))
        monkeypatch.setattr(command, "find_problems", lambda *_, **__: [])
        return cli.main(["check", str(written(tmp_path, values(tmp_path))), "--peers", *flags])

    return run


def test_the_command(check: Checks, capsys: pytest.CaptureFixture[str]) -> None:
    assert check() == exit_codes.OK
    out = capsys.readouterr().out
    assert "\ngateway  role    address         gateway id  ms" in out
    assert check("--json") == exit_codes.OK
    told = json.loads(capsys.readouterr().out)
    assert [one["gateway_id"] for one in told["peers"]] == ["root", "deep"]
    assert (told["ok"], told["elsewhere"]) == (True, [])


def test_the_command_fails_with_lines(check: Checks, capsys: pytest.CaptureFixture[str]) -> None:
    assert check("--json", root=root(gateway="la")) == exit_codes.FAILED
    captured = capsys.readouterr()
    (line,) = json.loads(captured.out)["problems"]
    assert ": tree.parents[0]: gateway 'root' has the gateway_id 'la'" in line
    assert line.partition(".yaml:")[2][0].isdigit()
    assert captured.err.startswith(line)


def test_links_are_those_of_a_gateway_that_runs(tmp_path: Path) -> None:
    made = config(tmp_path)
    assert made.tree is not None
    link = asking.peer_link(made.tree.parents[0], made.tree)
    assert (link.name, link.up) == ("root", True)
    link.close()
