"""Merging a response's topics with the topics that were kept of the request."""

from __future__ import annotations

import sys
from types import FrameType, TracebackType
from typing import Any

from gateway.decision import Denied
from gateway.rules import topic_entries
from gateway.rules.topic_entries import Rejection, RequestedTopic, divide, merge_topics
from protocol import messages
from tests.rules.apis import api_named, topics_of
from tests.rules.samples import Asked, ask, serve

API = api_named("ListOffsets")
SHAPE = topics_of(API, 7)
DENIED = Denied(29, "not yours", "access")


def response(*asked: Asked) -> Any:
    return messages.parse("ListOffsetsResponse", 7, serve(API, 7, ask(API, 7, asked)))


def merged(holder: Any, *asked: RequestedTopic) -> list[tuple[str, list[int]]]:
    topics = merge_topics(SHAPE, asked, holder).topics
    return [(t.name, [p.partition_index for p in t.partitions]) for t in topics]


def plain(name: str, *partitions: int) -> RequestedTopic:
    return RequestedTopic(name, None, partitions, forwarded=name)


def test_what_the_broker_left_out_stays_out() -> None:
    assert merged(response(Asked("b")), plain("a", 0, 3), plain("b", 0, 3)) == [("b", [0, 3])]


def test_what_nobody_asked_for_comes_last() -> None:
    holder = response(Asked("extra"), Asked("a"))
    assert merged(holder, plain("a", 0, 3)) == [("a", [0, 3]), ("extra", [0, 3])]


def test_a_topic_asked_for_twice_gets_both_answers() -> None:
    holder = response(Asked("a", partitions=(1,)), Asked("b"), Asked("a", partitions=(2,)))
    both = merged(holder, plain("a", 1), plain("a", 2))
    assert sorted(both) == [("a", [1]), ("a", [2]), ("b", [0, 3])]
    once = response(Asked("a", partitions=(1,)))
    assert merged(once, plain("a", 1), plain("a", 1)) == [("a", [1])]


def test_a_shared_entry_is_cut_to_what_each_spelling_asked_for() -> None:
    holder = response(Asked("a", partitions=(0, 1, 2)))
    first = RequestedTopic("a", None, (0, 1), forwarded="a", shared=True)
    second = RequestedTopic("A", None, (1, 2), None, "a", {1: DENIED}, shared=True)
    assert merged(holder, first, second) == [("a", [0, 1]), ("A", [2, 1])]


def test_all_topics_pass() -> None:
    holder = response(Asked("a"))
    assert merge_topics(SHAPE, None, holder) is holder


class LinesRun:
    """Counts the lines of a file that run; a time would depend on what else the machine does."""

    def __init__(self, file: str) -> None:
        self.count = 0
        self._file = file
        self._before = sys.gettrace()

    def __enter__(self) -> LinesRun:
        sys.settrace(self._trace)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        sys.settrace(self._before)

    def _trace(self, frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code.co_filename != self._file:
            return None
        self.count += event == "line"
        return self._trace


def steps_for(spellings: int) -> int:
    """Lines of the module that run to divide a request that names a topic by two spellings in turn,
    each time with ten partitions of its own, and to merge its response."""
    names = ["a:t" if number % 2 else "a..t" for number in range(spellings)]
    partitions = [tuple(range(10 * at, 10 * at + 10)) for at in range(spellings)]
    asked = [Asked(*one) for one in zip(names, [None] * spellings, partitions, strict=True)]
    request = messages.parse("ListOffsetsRequest", 7, ask(API, 7, asked))
    everything = Asked("a..t", partitions=tuple(range(10 * spellings)))
    holder = response(everything)
    with LinesRun(topic_entries.__file__) as lines:
        forwarded, requested = divide(request.topics, Rejection(SHAPE, aliases={b"a:t": b"a..t"}))
        answered = merged(holder, *requested)
    numbers = [p.partition_index for topic in forwarded for p in topic.partitions]
    assert sorted(numbers) == list(range(10 * spellings))
    assert {name for name, _ in answered} == {"a:t", "a..t"}
    return lines.count


def test_repeated_spellings_take_steps_in_proportion() -> None:
    few, many = steps_for(50), steps_for(400)
    assert many < 8 * few * 2  # it would be 64 times as much if each looked at all of them
