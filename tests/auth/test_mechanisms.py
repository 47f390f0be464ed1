"""The mechanisms of a listener: which exchange each begins, and how long sessions last."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.auth.exchange import CannotTell, CredentialsError
from gateway.auth.jwks_url import UrlKeys
from gateway.auth.mechanisms import Mechanisms
from gateway.auth.oauthbearer import OAuthBearerExchange
from gateway.auth.passwords import PlainExchange, ScramExchange
from gateway.catalog.entities import ScramCredential
from gateway.config.security import ListenerSasl, OAuthBearer, Secret
from gateway.identity import Identity
from tests.auth.tokens import jwk, key_set

KEY = "listeners[0].sasl"
NOW = 1_000.0


def mechanisms(tmp_path: Path, max_reauth_seconds: float = 0.0) -> Mechanisms:
    (tmp_path / "alice").write_text("wonderland")
    (tmp_path / "jwks").write_text(key_set(jwk("ES256")))
    sasl = ListenerSasl(
        mechanisms=("PLAIN", "SCRAM-SHA-256", "OAUTHBEARER"),
        users={"alice": Secret(file=tmp_path / "alice")},
        oauthbearer=OAuthBearer(jwks=str(tmp_path / "jwks"), audience=("kafka",)),
        max_reauth_seconds=max_reauth_seconds,
    )
    credential = ScramCredential("bob", "SCRAM-SHA-256", 4_096, b"", b"", b"")
    credentials = {("SCRAM-SHA-256", "bob"): credential}
    made = Mechanisms(sasl, KEY, lambda: credentials, lambda: NOW)
    made.load()
    return made


def test_each_mechanism_has_its_exchange(tmp_path: Path) -> None:
    made = mechanisms(tmp_path)
    assert made.names == ("PLAIN", "SCRAM-SHA-256", "OAUTHBEARER")
    kinds = [type(made.begin(name)) for name in made.names]
    assert kinds == [PlainExchange, ScramExchange, OAuthBearerExchange]


def test_what_cannot_be_read_is_told_with_its_key(tmp_path: Path) -> None:
    users = {"alice": Secret(file=tmp_path / "none")}
    sasl = ListenerSasl(mechanisms=("PLAIN",), users=users)
    with pytest.raises(CredentialsError, match=r"^listeners\[0\]\.sasl\.users\.alice: "):
        Mechanisms(sasl, KEY, dict).load()
    oauthbearer = OAuthBearer(jwks=str(tmp_path / "none"), audience=("kafka",))
    sasl = ListenerSasl(mechanisms=("OAUTHBEARER",), oauthbearer=oauthbearer)
    with pytest.raises(CredentialsError, match=r"^listeners\[0\]\.sasl\.oauthbearer\.jwks: "):
        Mechanisms(sasl, KEY, dict).load()


async def test_a_url_need_not_answer_at_start() -> None:
    oauthbearer = OAuthBearer(jwks="http://127.0.0.1:1/", audience=("kafka",))
    sasl = ListenerSasl(mechanisms=("OAUTHBEARER",), oauthbearer=oauthbearer)
    made = Mechanisms(sasl, KEY, dict)
    made.load()
    assert isinstance(made._keys, UrlKeys)
    with pytest.raises(CannotTell):
        made.begin("OAUTHBEARER").step(b"n,,\x01auth=Bearer x\x01\x01")
    await made.stop()


# -- how long ---------------------------------------------------------------------------------

ALICE = Identity("User:alice", "PLAIN", user="alice")


@pytest.mark.parametrize(
    ("expires", "max_seconds", "ends", "told_ms"),
    [
        (None, 0.0, None, 0),
        (NOW + 60, 0.0, NOW + 60, 60_000),
        (None, 20.0, NOW + 20, 20_000),
        (NOW + 60, 20.0, NOW + 20, 20_000),
        (NOW + 10, 20.0, NOW + 10, 10_000),
        (NOW + 0.0001, 0.0, NOW + 0.0001, 1),  # 0 would mean: for ever
    ],
)
def test_sessions(
    tmp_path: Path, expires: float | None, max_seconds: float, ends: float | None, told_ms: int
) -> None:
    made = mechanisms(tmp_path, max_reauth_seconds=max_seconds)
    identity = Identity("User:alice", "OAUTHBEARER", expires)
    session = made.session(identity)
    assert session.identity == Identity("User:alice", "OAUTHBEARER", ends)
    assert session.lifetime_ms == told_ms


def test_an_identity_is_no_more_without_its_user(tmp_path: Path) -> None:
    made = mechanisms(tmp_path)
    assert made.why_gone(ALICE) is None
    assert made.why_gone(Identity("User:bob", "SCRAM-SHA-256", user="bob")) is None
    assert made.why_gone(Identity("User:bob", "SCRAM-SHA-512", user="bob")) == "user is gone"
    assert made.why_gone(Identity("User:carol", "PLAIN", user="carol")) == "user is gone"
    assert made.why_gone(Identity("User:carol", "OAUTHBEARER")) is None
    assert not made.look_again()
    (tmp_path / "alice").unlink()
    assert made.look_again()
    assert made.why_gone(ALICE) == "user is gone"
