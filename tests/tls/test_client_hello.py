"""The server name in a ClientHello: from OpenSSL's client, and in bytes of no client."""

from __future__ import annotations

import ssl
from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.tls.client_hello import MAX_HELLO, ClientHello, HelloReader, InvalidHello


def openssl_hello(name: str | None = "gw.example", *, tls12: bool = False) -> bytes:
    """The first bytes that a client sends."""
    context = ssl.create_default_context()
    context.check_hostname = name is not None
    context.verify_mode = ssl.CERT_REQUIRED if name is not None else ssl.CERT_NONE
    if tls12:
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(incoming, outgoing, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def read_hello(data: bytes) -> ClientHello | None:
    return HelloReader().read(data)


def vector(width: int, content: bytes) -> bytes:
    return len(content).to_bytes(width, "big") + content


def written_hello(name: bytes, *, kind: int = 0) -> bytes:
    """A ClientHello by hand, with any bytes for a name."""
    names = vector(2, bytes([kind]) + vector(2, name))
    extensions = b"\x00\x0a\x00\x00" + b"\x00\x00" + vector(2, names)
    body = b"\x03\x03" + bytes(32) + vector(1, b"") + vector(2, b"\x13\x01") + vector(1, b"\x00")
    message = b"\x01" + vector(3, body + vector(2, extensions))
    return b"\x16\x03\x01" + vector(2, message)


@pytest.mark.parametrize("tls12", [False, True])
@pytest.mark.parametrize("name", ["gw.example", None])
def test_the_name_that_openssl_asks_for(name: str | None, tls12: bool) -> None:
    data = openssl_hello(name, tls12=tls12)
    asked = None if name is None else name.encode()
    assert read_hello(data) == ClientHello(data, asked)


def test_a_hello_that_comes_byte_by_byte() -> None:
    data = openssl_hello()
    for end in range(len(data)):
        assert read_hello(data[:end]) is None
    assert read_hello(data) is not None


def test_a_hello_in_several_records() -> None:
    whole = openssl_hello()
    message = whole[5:]
    data = b"".join(
        b"\x16\x03\x01" + vector(2, message[at : at + 50]) for at in range(0, len(message), 50)
    )
    assert read_hello(data) == ClientHello(data, b"gw.example")
    assert read_hello(data[:-1]) is None


def test_a_name_of_any_bytes() -> None:
    data = written_hello(b"b\xff\xfe\x00.example")
    assert read_hello(data) == ClientHello(data, b"b\xff\xfe\x00.example")
    data = written_hello(b"x", kind=1)
    assert read_hello(data) == ClientHello(data, None)


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n",
        b"\x15\x03\x01\x00\x02\x02\x28",
        b"\x16\x03\x01\x00\x04\x02\x00\x00\x00",  # a ServerHello
        b"\x16\x03\x01\x00\x04\x01\x00\x00\x00",  # nothing in it
        b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x03",
    ],
)
def test_what_is_no_hello_is_left_to_openssl(data: bytes) -> None:
    assert read_hello(data) == ClientHello(data, None)


@given(at=st.integers(0, 516), byte=st.integers(0, 255), end=st.integers(0, 600))
def test_bytes_that_are_almost_right(at: int, byte: int, end: int) -> None:
    data = bytearray(openssl_hello())
    data[at % len(data)] = byte
    try:
        read = read_hello(bytes(data[:end]))
    except InvalidHello:
        return
    assert read is None or read.data == data[:end]


@given(st.binary(max_size=100))
def test_garbage(data: bytes) -> None:
    try:
        read = read_hello(b"\x16" + data)
    except InvalidHello:
        return
    assert read is None or read.server_name is None or read.server_name in data


def records(message: bytes, sizes: list[int]) -> bytes:
    """A message in records of these sizes, and a last record with the rest."""
    found, at = b"", 0
    for size in [*sizes, len(message)]:
        if piece := message[at : at + size]:
            found += b"\x16\x03\x01" + vector(2, piece)
        at += size
    return found


@given(
    data=st.one_of(
        st.builds(
            lambda sizes, rest: records(written_hello(b"gw.example")[5:], sizes) + rest,
            st.lists(st.integers(1, 40), max_size=20),
            st.binary(max_size=20),
        ),
        st.builds(lambda rest: b"\x16\x03\x01" + rest, st.binary(max_size=60)),
    ),
    cuts=st.lists(st.integers(1, 30), max_size=60),
)
def test_the_pieces_do_not_matter(data: bytes, cuts: list[int]) -> None:
    """The bytes in pieces: the same outcome as byte by byte, after the same bytes or later."""

    def outcome(sizes: list[int]) -> tuple[bytes | str | None, int] | None:
        reader, at = HelloReader(), 0
        for size in [*sizes, len(data)]:
            piece = data[at : at + size]
            at += len(piece)
            try:
                hello = reader.read(piece)
            except InvalidHello as error:
                return str(error), at
            if hello is not None:
                assert hello.data == data[:at]
                return hello.server_name, at
        return None

    single, pieces = outcome([1] * len(data)), outcome(cuts)
    assert (single is None) == (pieces is None)
    if single is not None and pieces is not None:
        assert single[0] == pieces[0]
        assert single[1] <= pieces[1]


def test_an_empty_record_is_rejected() -> None:
    """RFC 8446, 5.1: no fragment of a handshake message is empty."""
    begun = b"\x16\x03\x01\x00\x04\x01\x00\xff\xff"
    with pytest.raises(InvalidHello, match="is empty"):
        read_hello(begun.replace(b"\xff\xff", b"\x02\x00") + b"\x16\x03\x01\x00\x00")
    with pytest.raises(InvalidHello, match="too long"):
        read_hello(begun)


def test_a_byte_costs_the_same_whatever_came_before() -> None:
    """A ClientHello of 16 KiB in records of one byte, byte by byte: it took 1.5 ms a byte."""
    message = b"\x01" + vector(3, bytes(MAX_HELLO - 4))
    data = b"".join(b"\x16\x03\x01\x00\x01" + bytes([byte]) for byte in message)
    reader = HelloReader()
    began = thread_time()
    with pytest.raises(InvalidHello, match="too long"):
        for byte in data:
            assert reader.read(bytes([byte])) is None
    assert thread_time() - began < 1.0  # measured: 0.02 s
