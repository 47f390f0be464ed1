from __future__ import annotations

from protocol.headers import SIZE_PREFIX, frame


def test_the_size_is_that_of_all_parts() -> None:
    assert frame(b"head", b"", b"body") == b"\0\0\0\x08headbody"
    assert frame() == bytes(4)


def test_the_prefix_reads_negative_sizes_as_such() -> None:
    assert SIZE_PREFIX.unpack_from(b"\xff\xff\xff\xff")[0] == -1
