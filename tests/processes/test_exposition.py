"""gateway.processes.exposition: the text of /metrics in slices is prometheus_client's own."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.exposition import choose_encoder

from gateway import slices
from gateway.counts import METRIC_BUCKETS, Row
from gateway.processes.exposition import Exposition
from gateway.processes.metrics import Metrics
from gateway.processes.worker_messages import State
from tests.pauses import pause_everywhere

PLAIN = "text/plain"
OPENMETRICS = "application/openmetrics-text"
ACCEPTED = (
    "",
    "*/*",
    PLAIN,
    f"{PLAIN}; version=1.0.0; escaping=allow-utf-8",
    OPENMETRICS,
    f"{OPENMETRICS}; version=0.0.1",
    f"{OPENMETRICS}; version=1.0.0",
    f"{OPENMETRICS}; version=2.0.0; escaping=values, {PLAIN}",
    f"{OPENMETRICS}; version=none",
)

_labels = st.tuples(
    st.text(max_size=5) | st.sampled_from(["(none)", 'a"\\\n', "org:é"]),
    st.integers(0, 70),
    st.integers(0, 12),
)
_rows = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["requests", "errors"]), _labels, st.integers(0, 2**60)),
        st.tuples(
            st.sampled_from(["gateway_seconds", "broker_seconds"]),
            st.tuples(st.integers(0, 70)),
            st.lists(st.integers(0, 9), min_size=METRIC_BUCKETS, max_size=METRIC_BUCKETS),
        ),
    ),
    max_size=80,
)
_states = st.dictionaries(
    st.integers(0, 3),
    st.builds(
        State,
        st.dictionaries(st.text(max_size=3), st.integers(0, 9), max_size=3),
        st.dictionaries(
            st.sampled_from(["topics", "cpu_seconds", "accepting"]), st.floats(0, 1e9), max_size=3
        ),
        st.floats(0, 100),
    ),
    max_size=3,
)


@pytest.fixture(autouse=True)
def _every_pause_point_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    pause_everywhere(monkeypatch)


class Counted(Metrics):
    """Counts how often the text is made."""

    texts = 0

    def frozen(self) -> Metrics:
        self.texts += 1
        return super().frozen()


def filled(rows: Sequence[Row] = ()) -> Counted:
    made = Counted("1.2.3", 1_000, now=lambda: 200.0)
    made.add(rows or [("requests", (f"org:team-{n}", 0, 9), n) for n in range(300)])
    return made


@given(rows=_rows, states=_states, accept=st.sampled_from(ACCEPTED))
def test_the_text_in_slices_is_that_made_at_once(
    rows: list[Row], states: dict[int, State], accept: str
) -> None:
    metrics = filled(rows)
    for worker_id, state in states.items():
        metrics.set_state(worker_id, state)
    try:
        encode, content_type = choose_encoder(accept)
    except TypeError:  # no version
        encode, content_type = choose_encoder("")
    wanted = encode(metrics), content_type
    assert asyncio.run(Exposition(metrics, slices.Turns()).text(accept)) == wanted
    assert encode(metrics) == wanted[0]


@pytest.mark.parametrize("accept", [PLAIN, OPENMETRICS])
async def test_what_is_counted_meanwhile_is_not_in_it(accept: str) -> None:
    metrics = filled()
    metrics.add([("gateway_seconds", (0,), [1] * METRIC_BUCKETS)])
    metrics.set_state(0, State({"a": 1}, {"topics": 3}, 100.0))
    before = choose_encoder(accept)[0](metrics)
    making = asyncio.create_task(Exposition(metrics, slices.Turns()).text(accept))
    rounds = 0
    while not making.done():
        await asyncio.sleep(0)
        rounds += 1
        if rounds > 1:
            metrics.count("requests", (f"new-{rounds}", 0, 9))
            metrics.count("requests", ("org:team-299", 0, 9))
            metrics.add([("gateway_seconds", (0,), [1] * METRIC_BUCKETS)])
            metrics.forget_state(0)
    assert rounds > 10
    assert (await making)[0] == before
    assert choose_encoder(accept)[0](metrics) != before


async def test_one_text_for_all_who_wait_for_it() -> None:
    metrics = filled()
    exposition = Exposition(metrics, slices.Turns())
    accepted = [f"{OPENMETRICS}; version={number}.0.{number}" for number in range(1, 9)]
    makings = [asyncio.create_task(exposition.text(accept)) for accept in accepted]
    for _ in range(5):
        await asyncio.sleep(0)
    makings[0].cancel()  # the first client goes away
    texts = [await making for making in makings[1:]]
    assert makings[0].cancelled()
    assert metrics.texts == 1
    assert {text for text, _ in texts} == {choose_encoder(OPENMETRICS)[0](metrics)}
    assert [kind for _, kind in texts] == [choose_encoder(accept)[1] for accept in accepted[1:]]
    metrics.count("requests", ("org:team-1", 0, 9))
    assert (await exposition.text(accepted[1]))[0] != texts[0][0]
    assert metrics.texts == 2


async def test_both_formats_are_made_beside_each_other() -> None:
    metrics = filled()
    exposition = Exposition(metrics, slices.Turns())
    texts = await asyncio.gather(*map(exposition.text, [PLAIN, OPENMETRICS]))
    assert [text for text, _ in texts] == [
        choose_encoder(accept)[0](metrics) for accept in (PLAIN, OPENMETRICS)
    ]


async def test_a_text_that_is_being_made_ends_with_the_port() -> None:
    exposition = Exposition(filled(), slices.Turns())
    making = asyncio.create_task(exposition.text(""))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await exposition.stop()
    with pytest.raises(asyncio.CancelledError):
        await making
