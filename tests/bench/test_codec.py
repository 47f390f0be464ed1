"""bench.codec: the timed code does its stated work."""

from __future__ import annotations

from typing import Any

import pytest

from bench.codec import nanoseconds, recoding, renaming
from bench.codec_messages import Sample, samples
from protocol.kinds import ALL_KINDS, Kind
from protocol.messages import parse
from protocol.walkers import Span, walker

_SAMPLES = list(samples())


def _name(sample: Sample) -> str:
    return f"{sample.message} v{sample.version} {sample.about}"


def _spans(sample: Sample, body: bytes) -> list[Span]:
    spans: list[Span] = []
    walker(sample.message, sample.version, ALL_KINDS)(body, 0, len(body), spans)
    return spans


def _values(spans: list[Span], *kinds: Kind) -> list[Any]:
    return [value for kind, _, _, value in spans if kind in kinds]


@pytest.mark.parametrize("sample", _SAMPLES, ids=_name)
def test_kio_writes_what_it_reads(sample: Sample) -> None:
    assert recoding(sample)() == sample.body


@pytest.mark.parametrize("sample", _SAMPLES, ids=_name)
def test_every_name_is_replaced_and_nothing_else_changes(sample: Sample) -> None:
    before, renamed = _spans(sample, sample.body), renaming(sample)()
    after = _spans(sample, renamed)
    assert parse(sample.message, sample.version, renamed)
    old, new = _values(before, Kind.TOPIC_NAME), _values(after, Kind.TOPIC_NAME)
    assert len(old) == len(new)
    assert not set(old) & set(new)
    inner = _values(before, Kind.SUBSCRIPTION), _values(after, Kind.SUBSCRIPTION)
    assert all(b"team-a:" in data for data in inner[0])
    assert all(b"team-a.." in data and b"team-a:" not in data for data in inner[1])
    others = set(Kind) - {Kind.TOPIC_NAME, Kind.SUBSCRIPTION, Kind.SIZED}
    assert _values(before, *others) == _values(after, *others)


@pytest.mark.parametrize("sample", _SAMPLES, ids=_name)
def test_what_has_names_is_spliced(sample: Sample) -> None:
    named = _values(_spans(sample, sample.body), Kind.TOPIC_NAME, Kind.SUBSCRIPTION)
    assert (renaming(sample)() != sample.body) is bool(named)


def test_the_samples_are_of_the_sizes_that_they_say() -> None:
    counts = {_name(s): len(_values(_spans(s, s.body), Kind.PARTITION)) for s in _SAMPLES}
    assert counts["FetchRequest v15 200 partitions"] == 200
    assert counts["ProduceRequest v12 16 partitions"] == 16
    assert counts["MetadataResponse v12 1,000 topics"] == 6_000


def test_time_is_in_nanoseconds() -> None:
    few, many = nanoseconds(lambda: sum(range(100))), nanoseconds(lambda: sum(range(100_000)))
    assert 100 < few < many < 1e9
