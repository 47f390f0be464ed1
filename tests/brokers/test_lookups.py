"""gateway.brokers.lookups: names apart from each other, and addresses that are kept."""

from __future__ import annotations

import asyncio
import gc
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gateway.brokers import lookups
from gateway.brokers.lookups import Lookups
from tests.brokers.name_server import NameServer
from tests.waiting import eventually

Test = Callable[[], Any]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[NameServer]:
    server = NameServer(monkeypatch)
    server.addresses["good"] = ["127.0.0.1", "127.0.0.2"]
    yield server
    server.released.set()


async def found(looked: Lookups, host: str) -> list[Any]:
    return [info[4] for info in await looked.addresses(host, 9092)]


GOOD = [("127.0.0.1", 9092), ("127.0.0.2", 9092)]


def test_silent_name_servers_stall_no_other_name_and_no_end(
    run: Callable[[Test], None], names: NameServer
) -> None:
    silent = {f"silent-{number}" for number in range(40)}
    names.silent |= silent
    looked = Lookups()
    giving_up = threading.Timer(120, names.released.set)
    giving_up.start()

    async def test() -> None:
        waiting = [asyncio.create_task(found(looked, host)) for host in silent]
        await eventually(lambda: silent <= set(names.asked), "the name server asked")
        assert await found(looked, "good") == GOOD
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting)

    run(test)  # the end of the event loop included
    assert not names.released.is_set()
    giving_up.cancel()


async def test_a_name_is_looked_up_once_at_a_time(names: NameServer) -> None:
    names.silent.add("good")
    looked = Lookups()
    waiting = [asyncio.create_task(found(looked, "good")) for _ in range(50)]
    await eventually(lambda: names.asked, "the name server asked")
    names.released.set()
    assert await asyncio.gather(*waiting) == [GOOD] * 50
    assert names.asked == ["good"]
    names.silent.clear()
    names.addresses["good"] = ["127.0.0.3"]
    assert await found(looked, "good") == [("127.0.0.3", 9092)]


async def test_addresses_serve_on_while_the_name_server_is_silent(
    names: NameServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    looked = Lookups()
    assert await found(looked, "good") == GOOD
    names.silent.add("good")
    monkeypatch.setattr(lookups, "SLOW_SECONDS", 0.01)
    assert await found(looked, "good") == GOOD
    monkeypatch.setattr(lookups, "SLOW_SECONDS", 3600.0)
    for _ in range(3):  # and no task waits for it any more
        assert await found(looked, "good") == GOOD
    assert names.asked == ["good", "good"]
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    caplog.set_level("INFO")
    names.addresses["good"] = ["127.0.0.3"]
    names.released.set()
    await eventually(lambda: len(caplog.records) == 2, "the name found again")
    assert caplog.records[1].levelname == "INFO"
    assert await found(looked, "good") == [("127.0.0.3", 9092)]


async def test_addresses_serve_on_while_the_name_server_fails(
    names: NameServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    looked = Lookups()
    assert await found(looked, "good") == GOOD
    names.failures["good"] = socket.EAI_AGAIN
    for _ in range(3):
        assert await found(looked, "good") == GOOD
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    monkeypatch.setattr(lookups, "KEPT_SECONDS", 0.0)
    with pytest.raises(socket.gaierror):
        await found(looked, "good")


async def test_a_name_that_no_longer_exists_has_no_addresses(names: NameServer) -> None:
    looked = Lookups()
    assert await found(looked, "good") == GOOD
    del names.addresses["good"]
    for code in (socket.EAI_NONAME, socket.EAI_AGAIN):
        names.failures["good"] = code
        with pytest.raises(socket.gaierror) as error:
            await found(looked, "good")
        assert error.value.errno == code


async def test_a_failure_that_nobody_waits_for_is_not_reported_as_unretrieved(
    names: NameServer,
) -> None:
    reported: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    names.silent.add("bad")
    looked = Lookups()
    waiting = asyncio.create_task(found(looked, "bad"))
    await eventually(lambda: names.asked, "the name server asked")
    also = asyncio.create_task(found(looked, "bad"))
    await asyncio.sleep(0)
    waiting.cancel()
    names.released.set()
    with pytest.raises(socket.gaierror):
        await also
    await asyncio.wait([waiting])
    del waiting, also
    gc.collect()
    assert reported == []


async def test_names_that_are_looked_up_at_once_are_bounded(names: NameServer) -> None:
    names.silent |= {"silent-1", "silent-2"}
    looked = Lookups(most_names=2)
    waiting = [asyncio.create_task(found(looked, host)) for host in ("silent-1", "silent-2")]
    await eventually(lambda: len(names.asked) == 2, "the name server asked")
    with pytest.raises(socket.gaierror) as error:
        await found(looked, "good")
    assert error.value.errno == socket.EAI_AGAIN
    assert await found(looked, "127.0.0.1") == GOOD[:1]
    names.released.set()
    await asyncio.wait(waiting)
    assert all(task.exception() is not None for task in waiting)
    assert await found(looked, "good") == GOOD


async def test_what_is_no_name(names: NameServer) -> None:
    for host in ("\0", "a" * 64 + ".example", "..", "caf\udce9"):
        with pytest.raises((OSError, ValueError)):
            await found(Lookups(), host)


async def test_the_address_that_worked_is_the_first(
    names: NameServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = Lookups()
    assert await found(looked, "good") == GOOD
    looked.prefer("good", "127.0.0.2")
    assert await found(looked, "good") == GOOD[::-1]
    names.addresses["good"] = ["127.0.0.1"]
    assert await found(looked, "good") == GOOD[:1]
    names.addresses["good"] = ["127.0.0.1", "127.0.0.2"]
    monkeypatch.setattr(lookups, "PREFERRED_SECONDS", -1.0)
    looked.prefer("good", "127.0.0.2")
    assert await found(looked, "good") == GOOD
