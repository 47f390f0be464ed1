"""Signatures of records, and the file that holds the keys."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.catalog.log.signatures import KeyFile, KeyFileError, Place, Signature, SigningKey

KEY = SigningKey("k1", bytes(range(32)))
PLACE = Place(7, 9, "0a", "09", 30, 4)
EXPECTED = "36e685798c1ef0e39d47b0298f0e3712fbf52c324f904e2760b43e2ecfcf483f"


def test_a_signature_is_hmac_sha256_over_all_of_a_record() -> None:
    """Computed once with openssl over the bytes that the docstring of the module describes."""
    signature = Signature.of(KEY, b"namespace/a", b"{}", PLACE, strict=True)
    assert signature.headers() == [
        ("key", b"k1"),
        ("strict", b"1"),
        ("mac", bytes.fromhex(EXPECTED)),
    ]


@pytest.mark.parametrize(
    ("name", "value", "place"),
    [
        (b"namespace/b", b"{}", PLACE),
        (None, b"{}", PLACE),
        (b"namespace/a", b"{} ", PLACE),
        (b"namespace/a", None, PLACE),
        (b"namespace/a{", b"}", PLACE),
        (b"namespace/a", b"{}", PLACE._replace(seq=8)),
        (b"namespace/a", b"{}", PLACE._replace(last=8)),
        (b"namespace/a", b"{}", PLACE._replace(at=8)),
        (b"namespace/a", b"{}", PLACE._replace(entities=5)),
        (b"namespace/a", b"{}", PLACE._replace(decision="0b")),
        (b"namespace/a", b"{}", PLACE._replace(after="0b")),
        (b"namespace/a", b"{}", PLACE._replace(decision="0", after="a09")),
    ],
)
def test_it_does_not_hold_for_anything_else(
    name: bytes | None, value: bytes | None, place: Place
) -> None:
    signature = Signature.of(KEY, b"namespace/a", b"{}", PLACE, strict=True)
    assert signature.holds(KEY, b"namespace/a", b"{}", PLACE)
    assert not signature.holds(KEY, name, value, place)
    assert not signature._replace(strict=False).holds(KEY, b"namespace/a", b"{}", PLACE)
    other = SigningKey("k1", bytes(32))
    assert not signature.holds(other, b"namespace/a", b"{}", PLACE)


@given(st.none() | st.binary(max_size=40), st.text(max_size=4), st.booleans())
def test_any_bytes_may_stand_where_a_signature_should(
    mac: bytes | None, key_id: str, strict: bool
) -> None:
    found = Signature.found([("key", key_id.encode()), ("strict", b"1"), ("mac", mac)])
    assert (found is None) is (mac is None)
    if found is not None:
        assert not found.holds(KEY, b"namespace/a", b"{}", PLACE)


def test_nobody_prints_a_key() -> None:
    assert KEY.secret.hex() not in repr(KEY)
    assert repr(KEY) == "SigningKey('k1')"


# -- the file ----------------------------------------------------------------------------------

ONE, TWO = "11" * 32, "ab" * 48


def test_the_first_key_is_for_signing_and_all_are_for_verifying(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text(f"# keys of the catalog\n\nk2 {TWO}\n  k1\t{ONE}  \n")
    file = KeyFile(path)
    assert file.first == SigningKey("k2", bytes.fromhex(TWO))
    assert file.get("k1") == SigningKey("k1", bytes.fromhex(ONE))
    assert file.get("k3") is None


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "holds no key; add a line"),
        ("k1\n", "line 1 of .* is no key; write ID"),
        (f"k1 {ONE} more\n", "line 1 of .* is no key"),
        ("k1 zz\n", "line 1 of .* is no key"),
        (f"k1 {ONE}a\n", "line 1 of .* is no key"),
        ("k1 aabb\n", "line 1 of .* has 2 bytes; a key needs 32"),
        (f"k1 {ONE}\n# again\nk1 {TWO}\n", "line 3 of .* has the id 'k1' again"),
        (f"k/1 {ONE}\n", "line 1 of .* is no key"),
    ],
)
def test_a_file_that_is_rejected(tmp_path: Path, content: str, told: str) -> None:
    path = tmp_path / "keys"
    path.write_text(content)
    with pytest.raises(KeyFileError, match=told) as raised:
        KeyFile(path).load()
    assert ONE not in str(raised.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(KeyFileError, match="cannot be read: No such file"):
        KeyFile(tmp_path / "keys").load()


def test_it_is_read_again_when_it_changes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "keys"
    path.write_text(f"k1 {ONE}\n")
    file = KeyFile(path)
    file.load()
    path.write_text(f"k1 {ONE}\nk2 {TWO}\n")
    assert file.get("k2") is None
    file.refresh()
    assert file.get("k2") is not None
    path.write_text("nonsense\nnonsense\n")
    file.refresh()
    file.refresh()
    assert file.get("k2") is not None
    assert caplog.text.count("the keys read before stay in use") == 1
    path.write_text(f"k2 {TWO}\n")
    file.refresh()
    assert file.get("k1") is None
