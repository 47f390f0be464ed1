"""A worker process for the supervisor's tests: it serves nothing and behaves as it is told.

``fake_worker.py BEHAVIOUR DIRECTORY WORKER_ID CHANNEL_FD``; each run leaves a file
``DIRECTORY/run-WORKER_ID-NUMBER`` with its process id, and counts one request. If it obeys, it
leaves the orders it got in ``DIRECTORY/orders-WORKER_ID-NUMBER``.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from pathlib import Path

from gateway.page.observed import Observed, Traffic, TrafficKey
from gateway.processes.worker_channel import receive_config
from gateway.processes.worker_messages import (
    Failed,
    Increments,
    Observe,
    Prepare,
    Prepared,
    Ready,
    State,
    decode_message,
    encode_message,
)

OBSERVED = Observed(
    1.0, [(TrafficKey("main", "team-a", "t", "colon", "User:a", "app", ""), Traffic(requests=7))]
)
COUNT = encode_message(Increments([("requests", ("team-a", 0, 9), 1)]))
_GAUGES = {"cluster_reachable": 1, "catalog_fresh": 1}
CUT_OFF = encode_message(State({"colon": 1}, _GAUGES | {"cut_off": 1}, time.monotonic()))


def reachable(config: bytes) -> bytes:
    """The state of a worker that reaches every cluster of its configuration."""
    clusters = json.loads(config)["clusters"]
    mounted = [one["name"] for one in clusters if one.get("mount") is not None]
    gauges = {} if mounted else _GAUGES
    states = dict.fromkeys(mounted, _GAUGES)
    return encode_message(State({"colon": 1}, gauges, time.monotonic(), states))


def leave(path: Path, content: bytes) -> None:
    """Write a file so that another process that reads or writes it meanwhile sees it whole."""
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    unfinished.write_bytes(content)
    unfinished.rename(path)


def main() -> int:
    behaviour, directory, worker_id, channel_fd = sys.argv[1:]
    channel = socket.socket(fileno=int(channel_fd))
    config = receive_config(channel)
    leave(Path(directory) / "config.json", config)
    run = 1
    while (marker := Path(directory) / f"run-{worker_id}-{run}").exists():
        run += 1
    leave(marker, str(os.getpid()).encode())
    if behaviour.startswith("obeys"):
        orders = Path(directory) / f"orders-{worker_id}-{run}"
        return obey(behaviour, run, channel, config, orders)
    return behave(behaviour, run, channel, config)


def obey(behaviour: str, run: int, channel: socket.socket, config: bytes, told: Path) -> int:
    """Take orders, until the end."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    state = CUT_OFF if behaviour == "obeys-and-is-cut-off" else reachable(config)
    channel.sendall(encode_message(Ready()) + state)
    with channel.makefile("rb") as lines:
        for line in lines:
            order = decode_message(line)
            with told.open("ab") as file:
                file.write(line)
            if isinstance(order, Observe):
                channel.sendall(encode_message(OBSERVED))
            if isinstance(order, Prepare):
                if behaviour == "obeys-but-dies-first" and run == 1:
                    os.kill(os.getpid(), signal.SIGKILL)
                if behaviour == "obeys-but-is-silent":
                    continue
                failure = "it is raining" if behaviour == "obeys-if-it-can" else ""
                channel.sendall(encode_message(Prepared(order.number, failure)))
    return 0


def behave(behaviour: str, run: int, channel: socket.socket, config: bytes) -> int:
    first = run == 1
    if behaviour == "refuses":
        channel.sendall(encode_message(Failed("cannot listen: address already in use")))
        return 78
    if behaviour == "finds-no-broker-first" and first:
        channel.sendall(encode_message(Failed("cluster 'main' is not reachable")))
        return 69
    if behaviour == "never-ready":
        signal.sigwait({signal.SIGTERM})
        return 0
    if behaviour == "never-ready-and-deaf":
        time.sleep(1000)
    channel.sendall(encode_message(Ready()) + reachable(config) + COUNT)
    if behaviour == "dies-first" and first:
        return 3
    if behaviour == "dies-in-a-line-first" and first:
        channel.sendall(COUNT + COUNT[:-5])
        os.kill(os.getpid(), signal.SIGKILL)
    if behaviour == "talks-nonsense":
        channel.sendall(b"nonsense\n" + COUNT)
    if behaviour == "talks-without-end" and first:
        channel.sendall(b"x" * 2_000_000)
    if behaviour == "reports":
        while not signal.sigtimedwait({signal.SIGTERM}, 0.05):
            channel.sendall(reachable(config))
        return 0
    signal.sigwait({signal.SIGTERM})
    if behaviour == "deaf":
        signal.sigwait({signal.SIGUSR1})
    channel.sendall(COUNT)
    return 5 if behaviour == "drains-badly" else 0


if __name__ == "__main__":
    # Like a real worker's, its signals are blocked from the start (worker_process.py).
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGUSR1})
    sys.exit(main())
