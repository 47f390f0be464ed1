"""bench.generators: the C programs against a server of this process."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from bench import generators
from bench.generators import GeneratorError
from bench.kafka_requests import api_versions_request, metadata_request
from tests.bench.scripted_server import correlation_id, echo, scripted_server

_REQUEST = metadata_request(12, "orders")
_ERROR_AT = 8  # after the size and the correlation id


@pytest.fixture
def request_file(tmp_path: Path) -> Path:
    path = tmp_path / "request"
    path.write_bytes(_REQUEST)
    return path


def _with_correlation_id(number: int) -> bytes:
    return _REQUEST[4:8] + number.to_bytes(4, "big") + _REQUEST[12:]


def test_replay_counts_correlation_ids_and_bytes(request_file: Path) -> None:
    with scripted_server(echo(bytes(100))) as served:
        report = generators.replay(served.port, request_file, count=50, depth=8)
    assert served.requests == [_with_correlation_id(number) for number in range(50)]
    assert (report.requests, report.bytes_out) == (50, 50 * len(_REQUEST))
    assert report.bytes_in == 50 * 108
    assert 0 < report.p50_us <= report.p90_us <= report.p99_us
    assert report.seconds > 0


def test_replay_spreads_over_connections(request_file: Path) -> None:
    with scripted_server(echo(b"")) as served:
        report = generators.replay(served.port, request_file, count=40, connections=4, depth=5)
    assert (report.requests, served.connections, len(served.requests)) == (40, 4, 40)


def test_replay_sends_and_receives_what_no_socket_takes_at_once(tmp_path: Path) -> None:
    path = tmp_path / "request"
    body = bytes(3 << 20)
    path.write_bytes((8 + len(body)).to_bytes(4, "big") + bytes(8) + body)
    with scripted_server(echo(body)) as served:
        report = generators.replay(served.port, path, count=6, connections=2, depth=2)
    assert report.bytes_in == 6 * (8 + len(body))
    assert {len(request) for request in served.requests} == {8 + len(body)}


def test_replay_ends_at_an_error_code(request_file: Path) -> None:
    codes = itertools.chain([0, 0, 0], itertools.repeat(6))

    def answer(request: bytes) -> bytes:
        return b"\0\0\0\x06" + correlation_id(request) + next(codes).to_bytes(2, "big")

    with (
        scripted_server(answer) as served,
        pytest.raises(GeneratorError, match="error code 6 at byte 8 of response 3"),
    ):
        generators.replay(served.port, request_file, count=10, zero_at=[_ERROR_AT])


def test_replay_looks_at_error_codes_only_where_they_are(request_file: Path) -> None:
    with scripted_server(echo(b"\0\0\x07\x07")) as served:
        report = generators.replay(served.port, request_file, count=3, zero_at=[_ERROR_AT])
    assert report.requests == 3


def test_replay_ends_at_a_response_of_another_size(request_file: Path) -> None:
    sizes = itertools.count(1)

    def answer(request: bytes) -> bytes:
        return echo(bytes(next(sizes)))(request)

    with (
        scripted_server(answer) as served,
        pytest.raises(GeneratorError, match="a response of 10 bytes after one of 9"),
    ):
        generators.replay(served.port, request_file, count=10)


def test_replay_ends_at_a_wrong_correlation_id(request_file: Path) -> None:
    with (
        scripted_server(lambda _: b"\0\0\0\x04\0\0\0\x09") as served,
        pytest.raises(GeneratorError, match="correlation id 9 instead of 0"),
    ):
        generators.replay(served.port, request_file, count=10)


def test_replay_ends_when_the_connection_does(request_file: Path) -> None:
    with (
        scripted_server(lambda _: b"") as served,
        pytest.raises(
            GeneratorError, match=r"connection closed after 0 responses|Connection reset"
        ),
    ):
        generators.replay(served.port, request_file, count=10)


def test_replay_does_not_wait_for_ever(request_file: Path) -> None:
    half = b"\0\0\0\x04\0\0"
    with (
        scripted_server(lambda _: half) as served,
        pytest.raises(GeneratorError, match="0 of 10 responses within 1 s"),
    ):
        generators.replay(served.port, request_file, count=10, deadline=1)


def test_paced_keeps_the_rate(request_file: Path) -> None:
    with scripted_server(echo(bytes(2))) as served:
        report = generators.paced(
            served.port, request_file, count=100, rate=500, connections=2, zero_at=[_ERROR_AT]
        )
    assert (report.requests, served.connections) == (100, 2)
    # The last request is due 99 / 500 s after the first; no machine makes that shorter.
    assert report.seconds >= 0.198


def test_paced_ends_at_an_error_code(request_file: Path) -> None:
    with (
        scripted_server(echo(b"\0\x03")) as served,
        pytest.raises(GeneratorError, match="error code 3"),
    ):
        generators.paced(served.port, request_file, count=10, rate=500, zero_at=[_ERROR_AT])


def test_idle_asks_once_on_every_connection_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "greeting"
    path.write_bytes(api_versions_request(3) + _REQUEST)
    with scripted_server(echo(b"")) as served:
        with generators.idle(served.port, path, 20):
            assert (served.connections, len(served.requests)) == (20, 40)
        assert served.requests[1] == _REQUEST[4:]


def test_idle_says_why_it_is_not_ready(request_file: Path) -> None:
    with (
        scripted_server(lambda _: b"") as served,
        pytest.raises(GeneratorError, match=r"closed before it answered|reset"),
        generators.idle(served.port, request_file, 2),
    ):
        pass


@pytest.mark.parametrize("content", [b"\0\0\0\x04abcd", b"\0\0\0\xffabcdefgh", _REQUEST * 2])
def test_what_is_no_single_request_is_rejected(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "request"
    path.write_bytes(content)
    with pytest.raises(GeneratorError, match=r"no request frame|exactly one request"):
        generators.replay(1, path, count=1)


def test_a_program_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_GATEWAY_CACHE", str(tmp_path))
    compile_generator = generators.compile_generator.__wrapped__
    program = compile_generator("idle")
    made = program.stat().st_mtime_ns
    assert compile_generator("idle") == program
    assert program.stat().st_mtime_ns == made


def test_without_a_compiler_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(GeneratorError, match=r"C compiler.*apt-get install gcc"):
        generators.compile_generator.__wrapped__("replay")
