"""Codec: the walkers and the splice against kio's decoding and encoding, in nanoseconds.

``python -m bench.codec`` prints the table. The walkers look for what the gateway looks for, and
names are replaced as it replaces them; kio reads the body and writes it again.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from kio.serial import entity_reader, entity_writer

from bench.codec_messages import SUBSCRIPTION_VERSION, Sample, samples
from gateway.exchanges.formats import FETCH_RESPONSE_KINDS, REQUEST_KINDS, RESPONSE_KINDS
from protocol.kinds import ALL_KINDS, Kind
from protocol.messages import message_class
from protocol.primitives import compact_string
from protocol.schema import message_spec
from protocol.splice import Edit, splice
from protocol.subscription import rewrite_subscription
from protocol.walkers import Span, Walker, segments, walker

_REPEATS: Final = 7
_SECONDS: Final = 0.03
_TOPIC_NAME: Final = int(Kind.TOPIC_NAME)
_SUBSCRIPTION: Final = int(Kind.SUBSCRIPTION)
_SIZED: Final = int(Kind.SIZED)
_INT16: Final = 2
_NAMES: Final = (b"team-a:", b"team-a..")


@dataclass(frozen=True, slots=True)
class CodecRow:
    """Nanoseconds for one message, the best of several runs."""

    message: str
    size: int
    walk_ns: float
    kio_ns: float


def measure() -> Iterator[CodecRow]:
    """A row for each sample, one after the other: they take a second in all."""
    for sample in samples():
        name = f"{sample.message} v{sample.version}, {sample.about}"
        walk, kio = renaming(sample), recoding(sample)
        yield CodecRow(name, len(sample.body), nanoseconds(walk), nanoseconds(kio))


def renaming(sample: Sample) -> Callable[[], bytes]:
    """Walks the sample and splices every name in it, as the gateway's hot path does."""
    kinds = REQUEST_KINDS if sample.message.endswith("Request") else RESPONSE_KINDS
    if sample.message == "FetchResponse":
        # Only heads are walked: the units one by one, as they arrive, past the records.
        walk = _fetch_response_walk(sample.version)
    else:
        walk = walker(sample.message, sample.version, kinds)
    assert message_spec(sample.message, sample.version).flexible
    body = sample.body
    known = _Known()

    def run() -> bytes:
        spans: list[Span] = []
        walk(body, 0, len(body), spans)
        edits: list[Edit] = []
        sized: list[tuple[int, int, int]] = []
        for kind, start, stop, value in spans:
            if kind == _TOPIC_NAME:
                edits.append((start, stop, known[value]))
            elif kind == _SUBSCRIPTION:
                new = rewrite_subscription(value, _other_name)
                edits.append((start, stop, compact_string(new)))
            elif kind == _SIZED:
                sized.append((start, stop, value))
        return splice(body, 0, len(body), edits, sized) if edits else body

    return run


def recoding(sample: Sample) -> Callable[[], bytes]:
    """Reads the sample into kio's objects and writes them again, with nothing changed.

    Subscriptions inside are read and written too, because the walkers' side goes into them.
    """
    outer = _recoder(message_class(sample.message, sample.version))
    inner = _recoder(message_class("ConsumerProtocolSubscription", SUBSCRIPTION_VERSION))
    body = sample.body
    embedded = [span[3][_INT16:] for span in _spans(sample) if span[0] == _SUBSCRIPTION]

    def run() -> bytes:
        for subscription in embedded:
            inner(subscription)
        return outer(body)

    return run


def _recoder(cls: Any) -> Callable[[bytes], bytes]:
    read, write = entity_reader(cls), entity_writer(cls)

    def recode(body: bytes) -> bytes:
        out = io.BytesIO()
        write(out, read(body, 0)[0])
        return out.getvalue()

    return recode


def _spans(sample: Sample) -> list[Span]:
    spans: list[Span] = []
    walk = walker(sample.message, sample.version, ALL_KINDS)
    walk(sample.body, 0, len(sample.body), spans)
    return spans


def nanoseconds(function: Callable[[], object]) -> float:
    """The duration of one call: the best of several runs, because disturbances only add to it."""
    start = time.perf_counter()
    function()
    first = time.perf_counter() - start
    calls = max(1, min(100_000, round(_SECONDS / max(first, 1e-7))))
    best = min(_timed(function, calls) for _ in range(_REPEATS))
    return best / calls * 1e9


def _timed(function: Callable[[], object], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        function()
    return time.perf_counter() - start


class _Known(dict[bytes, bytes]):
    """Names as the other side writes them, kept: the gateway's view keeps what it resolved."""

    def __missing__(self, name: bytes) -> bytes:
        found = self[name] = compact_string(_other_name(name))
        return found


def _other_name(name: bytes) -> bytes:
    logical, flat = _NAMES
    if name.startswith(flat):
        return logical + name.removeprefix(flat)
    return flat + name.removeprefix(logical)


def _fetch_response_walk(version: int) -> Walker:
    """All units of a fetch response; record bytes are stepped over."""
    units = segments("FetchResponse", version, FETCH_RESPONSE_KINDS)

    def walk(buf: bytes, pos: int, end: int, out: list[Span]) -> int:
        pos = units.prefix(buf, pos, end, out)
        for _ in range(out[-1][3]):
            pos = units.topic_head(buf, pos, end, out)
            for _ in range(out[-1][3]):
                pos = units.partition_head(buf, pos, end, out)
                pos = units.partition_tail(buf, pos + out[-1][3], end, out)
            pos = units.topic_tail(buf, pos, end, out)
        return units.tail(buf, pos, end, out)

    return walk


def main() -> None:
    """Print the table."""
    from bench.report import codec_table

    print(codec_table(list(measure())), end="")


if __name__ == "__main__":
    main()
