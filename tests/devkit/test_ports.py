"""devkit.ports."""

from __future__ import annotations

import socket

import pytest

from devkit import ports
from devkit.ports import NoFreePortError, free_port, free_ports


def test_a_block_is_consecutive_and_can_be_bound() -> None:
    block = free_ports(5)
    assert list(block) == list(range(block[0], block[0] + 5))
    for port in block:
        with socket.create_server(("127.0.0.1", port)):
            pass


def test_no_port_is_given_twice() -> None:
    given = [free_port() for _ in range(50)]
    assert len(set(given)) == 50


def test_ports_do_not_run_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "_range", range(30_000, 30_400))
    monkeypatch.setattr(ports, "_given", {})
    blocks = [free_ports(14) for _ in range(100)]
    for number, block in enumerate(blocks):
        assert all(set(block).isdisjoint(other) for other in blocks[max(0, number - 7) : number])


def test_a_port_that_something_listens_on_is_not_free(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = server.getsockname()[1]
        monkeypatch.setattr(ports, "_range", range(taken, taken + 1))
        with pytest.raises(NoFreePortError):
            free_port()


def test_those_who_keep_to_their_parts_never_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "_range", None)  # the former range comes back
    given = []
    for part in range(3):
        ports.keep_to(part, 3)
        given.append(sorted(free_ports(3)[0] for _ in range(30)))
    assert given[0][0] >= ports._LOWEST_OF_PARTS
    assert given[0][-1] + 2 < given[1][0]
    assert given[1][-1] + 2 < given[2][0]


def test_a_large_block_may_have_ports_that_were_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "_range", range(30_000, 30_400))
    monkeypatch.setattr(ports, "_given", dict.fromkeys(range(30_000, 30_400, 40)))
    with pytest.raises(NoFreePortError):
        free_ports(50)
    assert len(free_ports(120)) == 120
