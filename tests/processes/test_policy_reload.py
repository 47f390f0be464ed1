"""gateway.processes.policy_reload: SIGHUP, with workers that behave as they are told."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from gateway import exit_codes
from gateway.config_file.loading import load_config
from gateway.processes import policy_reload
from gateway.processes.supervisor import Supervisor
from gateway.processes.worker_messages import (
    Abort,
    Commit,
    Message,
    Prepare,
    decode_message,
)
from gateway.processes.worker_process import WorkerCommand, WorkerProcess, WorkerSlot
from tests.config import config_samples
from tests.processes.test_supervisor import FAST, command
from tests.waiting import eventually

LOOSE = {"everywhere": {"partitions": {"max": 9}}}
STRICT = {"everywhere": {"partitions": {"max": 3}}}


class Run:
    """A gateway whose file can be written anew."""

    def __init__(self, directory: Path, behaviour: str, **overrides: Any) -> None:
        self.directory = directory
        self.values = config_samples.values(policies=LOOSE, **overrides)
        self.write()
        path = directory / "gateway.yaml"
        config = load_config(path)
        self.supervisor = Supervisor(
            config, path, command=command(behaviour, directory), timing=FAST
        )
        self.task = asyncio.create_task(self.supervisor.run())

    def write(self, **changed: Any) -> None:
        self.values |= changed
        text = yaml.safe_dump(self.values, sort_keys=False)
        (self.directory / "gateway.yaml").write_text(text)

    def reload(self, **changed: Any) -> None:
        self.write(**changed)
        signal.raise_signal(signal.SIGHUP)

    def orders(self, worker_id: int = 0, run: int = 1) -> Sequence[Message]:
        path = self.directory / f"orders-{worker_id}-{run}"
        lines = path.read_bytes().splitlines() if path.exists() else []
        return [decode_message(line) for line in lines]

    def kinds(self, worker_id: int = 0, run: int = 1) -> list[type]:
        return [type(order) for order in self.orders(worker_id, run)]

    @property
    def max_partitions(self) -> int | None:
        """The limit that new workers get."""
        found = self.supervisor.policies.config.policies.everywhere.partitions
        return None if found is None else found.max

    def counted(self) -> dict[str, float]:
        """The counts of reloads by outcome."""
        return {
            sample.labels["outcome"]: sample.value
            for family in self.supervisor.metrics.collect()
            for sample in family.samples
            if sample.name == "kafka_gateway_policy_reloads_total" and sample.value
        }

    async def until_counted(self, **outcomes: int) -> None:
        await eventually(lambda: self.counted() == outcomes, f"{outcomes}")

    async def until_ready(self) -> None:
        await eventually(lambda: not self.supervisor.health().not_ready, "ready workers")


@asynccontextmanager
async def running(directory: Path, behaviour: str, **overrides: Any) -> AsyncIterator[Run]:
    run = Run(directory, behaviour, **overrides)
    try:
        await run.until_ready()
        yield run
    finally:
        run.supervisor.stop()
        assert await asyncio.wait_for(run.task, 120) == exit_codes.OK


async def test_all_workers_take_over_the_policies(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "gateway.processes.policy_reload")
    async with running(tmp_path, "obeys", workers=2) as run:
        run.reload(policies=STRICT)
        await run.until_counted(done=1)
        run.reload()  # also without a change: policies read files of their own
        await run.until_counted(done=2)
        assert run.max_partitions == 3
        for worker_id in (0, 1):
            await eventually(lambda worker=worker_id: len(run.orders(worker)) == 4, "orders")  # type: ignore[misc]
            first, second, third, fourth = run.orders(worker_id)
            assert isinstance(first, Prepare)
            assert first.policies == run.supervisor.policies.config.policies
            assert (second, type(third)) == (Commit(first.number), Prepare)
            assert fourth == Commit(first.number + 1)
    assert caplog.messages.count("policies are reloaded") == 2


async def test_a_pipe_is_not_read_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The supervisor has read it to its end; workers are not held up by a wait for more."""
    async with running(tmp_path, "obeys") as run:
        path = tmp_path / "gateway.yaml"
        path.unlink()
        os.mkfifo(path)
        signal.raise_signal(signal.SIGHUP)
        await run.until_counted(failed=1)
    (line,) = [line for line in caplog.messages if line.startswith("policies stay as they were")]
    assert line.startswith(f"policies stay as they were: {path}: cannot be read: it is a pipe, and")


async def test_what_one_worker_cannot_take_no_worker_takes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(tmp_path, "obeys-if-it-can", workers=2) as run:
        run.reload(policies=STRICT)
        await run.until_counted(failed=1)
        assert run.max_partitions == 9
        for worker_id in (0, 1):
            await eventually(lambda worker=worker_id: len(run.orders(worker)) == 2, "orders")  # type: ignore[misc]
            assert run.kinds(worker_id) == [Prepare, Abort]
    assert "policies stay as they were: worker 1: it is raining" in caplog.messages


async def test_a_file_that_is_wrong_changes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(tmp_path, "obeys") as run:
        run.reload(policies={"everywhere": {"partitions": {"max": "many"}}})
        await run.until_counted(failed=1)
        assert run.max_partitions == 9
        assert run.orders() == []
        lines = (tmp_path / "gateway.yaml").read_text().splitlines()
        line = lines.index("      max: many") + 1
    told = f"policies stay as they were: {tmp_path}/gateway.yaml:{line}: policies.everywhere."
    assert [message.startswith(told) for message in caplog.messages] == [True]


async def test_only_policies_are_taken_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(tmp_path, "obeys") as run:
        run.reload(policies=STRICT, namespaces=["other"], workers=3)
        await run.until_counted(done=1)
        config = run.supervisor.policies.config
        assert (config.namespaces, config.workers) == (("team-a",), 1)
    told = "only policies are reloaded: what has changed in namespaces, workers takes effect"
    assert [message.startswith(told) for message in caplog.messages] == [True]


async def test_a_worker_that_dies_of_new_policies(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(tmp_path, "obeys-but-dies-first") as run:
        run.reload(policies=STRICT)
        await run.until_counted(failed=1)
        assert "policies stay as they were: worker 0: it ended meanwhile" in caplog.messages
        await run.until_ready()
        assert run.orders(run=2) == []
        run.reload()
        await run.until_counted(failed=1, done=1)
        await eventually(lambda: len(run.orders(run=2)) == 2, "both orders")
        assert run.kinds(run=2) == [Prepare, Commit]


async def test_a_worker_that_does_not_answer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy_reload, "ANSWER_SECONDS", 0.05)
    async with running(tmp_path, "obeys-but-is-silent") as run:
        run.reload(policies=STRICT)
        await run.until_counted(failed=1)
    told = "policies stay as they were: worker 0: it did not answer within 0.05 s"
    assert told in caplog.messages


async def test_a_new_worker_begins_with_the_newest_policies(tmp_path: Path) -> None:
    async with running(tmp_path, "obeys") as run:
        run.reload(policies=STRICT)
        await run.until_counted(done=1)
        os.kill(int((tmp_path / "run-0-1").read_text()), signal.SIGKILL)
        await eventually((tmp_path / "run-0-2").exists, "the second run")
        await run.until_ready()
        assert b'"max":3' in (tmp_path / "config.json").read_bytes()
        assert run.orders(run=2) == []


@pytest.mark.parametrize("policies", [STRICT, LOOSE])
async def test_a_worker_that_was_starting_starts_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, policies: dict[str, Any]
) -> None:
    """Otherwise it would listen, and judge by policies that no other worker has any more; even if
    the file is the same, because classes may read other files."""
    caplog.set_level("INFO", "gateway.processes.policy_reload")
    async with running(tmp_path, "obeys") as run:
        (slot,) = run.supervisor._slots
        slot.ready = False  # as if it had not reported yet
        run.reload(policies=policies)
        await run.until_counted(done=1)
        await eventually((tmp_path / "run-0-2").exists, "the second run")
        await run.until_ready()
        assert (run.orders(), run.orders(run=2)) == ([], [])
        assert slot.policies is run.supervisor.policies.config.policies
        assert f'"max":{run.max_partitions}'.encode() in (tmp_path / "config.json").read_bytes()
    assert caplog.messages.count("worker 0 starts anew, with the policies of now") == 1


async def test_a_process_that_was_made_during_a_reload_starts_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = WorkerProcess.start
    async with running(tmp_path, "obeys") as run:

        async def start_late(worker_id: int, command: WorkerCommand, config: str) -> WorkerProcess:
            process = await start(worker_id, command, config)
            if run.max_partitions == 9:
                run.reload(policies=STRICT)
                await run.until_counted(done=1)
            return process

        monkeypatch.setattr(WorkerProcess, "start", start_late)
        os.kill(int((tmp_path / "run-0-1").read_text()), signal.SIGKILL)
        await eventually((tmp_path / "run-0-3").exists, "the third run")
        await run.until_ready()
        assert b'"max":3' in (tmp_path / "config.json").read_bytes()


async def test_a_worker_that_gets_ready_during_a_reload_prepares_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path, "obeys", workers=2) as run:
        first, second = run.supervisor._slots
        second.ready = False
        prepare = WorkerSlot.prepare

        async def prepare_slowly(slot: WorkerSlot, order: Prepare, seconds: float) -> str:
            told = await prepare(slot, order, seconds)
            second.ready = True
            return told

        monkeypatch.setattr(WorkerSlot, "prepare", prepare_slowly)
        run.reload(policies=STRICT)
        await run.until_counted(done=1)
        assert first.policies is second.policies
        for worker_id in (0, 1):
            await eventually(lambda worker=worker_id: len(run.orders(worker)) == 2, "orders")  # type: ignore[misc]
            assert run.kinds(worker_id) == [Prepare, Commit]
        assert not (tmp_path / "run-1-2").exists()
