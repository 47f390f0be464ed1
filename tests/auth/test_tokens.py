"""Bearer tokens: signatures first, then claims; nothing symmetric, nothing unsigned."""

from __future__ import annotations

import base64
import hmac
import json
import time
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from hypothesis import given
from hypothesis import strategies as st

from gateway.auth.exchange import AuthenticationFailed, CannotTell
from gateway.auth.jwks import KeySet
from gateway.auth.oauthbearer import TokenChecker
from gateway.config.security import OAuthBearer
from tests.auth.tokens import AUDIENCE, claims, jwk, key_set, token

ISSUER = "https://localhost/issuer"
TIMES = ("exp", "nbf", "iat")
ALGORITHMS = ["RS256", "RS512", "PS256", "ES256", "ES384", "ES512", "EdDSA"]


class Keys:
    """Keys that exist, or not yet."""

    def __init__(self, *keys: dict[str, Any]) -> None:
        self.current = KeySet.parse(key_set(*keys)) if keys else None
        self.misses = 0

    def missed(self) -> None:
        self.misses += 1

    def load(self) -> None:
        pass

    def look_again(self) -> None:
        pass

    async def stop(self) -> None:
        pass


ONE = Keys(jwk("ES256"))


def checker(keys: Keys = ONE, **settings: Any) -> TokenChecker:
    return TokenChecker(OAuthBearer(jwks="keys.json", audience=(AUDIENCE,), **settings), keys)


def why(text: str, keys: Keys = ONE, **settings: Any) -> AuthenticationFailed:
    with pytest.raises(AuthenticationFailed) as failed:
        checker(keys, **settings).check(text)
    return failed.value


# -- signatures -------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("named", [True, False])
def test_every_algorithm(algorithm: str, named: bool) -> None:
    keys = Keys(jwk(algorithm, "other"), jwk(algorithm, "one"))
    user, _ = checker(keys).check(token(algorithm, kid="one" if named else None))
    assert user == "alice"


def test_a_key_without_an_algorithm_serves_all_of_its_type() -> None:
    keys = Keys(jwk("RS256", alg=None))
    for algorithm in ("RS256", "RS384", "PS512"):
        assert checker(keys).check(token(algorithm, "one")).user == "alice"


def test_a_key_with_an_algorithm_serves_no_other() -> None:
    assert "not signed with a key" in why(token("RS512"), Keys(jwk("RS256"))).reason


def test_another_key() -> None:
    failure = why(token(name="other", kid="one"))
    assert failure.reason == "the token is not signed with a key of the configured set"
    assert failure.message == ""


def test_a_short_key_proves_nothing() -> None:
    short = rsa.generate_private_key(65_537, 1_024)  # noqa: S505 - that is the test
    public = json.loads(jwt.get_algorithm_by_name("RS256").to_jwk(short.public_key()))
    with pytest.warns(jwt.InsecureKeyLengthWarning):
        signed = jwt.encode(claims(), short, "RS256")
    assert "not signed with a key" in why(signed, Keys(public)).reason


def unsigned(header: dict[str, Any], payload: dict[str, Any], signature: bytes = b"") -> str:
    parts = [json.dumps(header).encode(), json.dumps(payload).encode(), signature]
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


@pytest.mark.parametrize("algorithm", ["none", "None", "", None, "HS256", "ES256K", 5, ["ES256"]])
def test_algorithms_that_are_not_served(algorithm: object) -> None:
    assert why(unsigned({"alg": algorithm, "kid": "one"}, claims())).message == ""


def test_a_public_key_is_no_shared_secret() -> None:
    """The known confusion: HS256 with the public key as its secret."""
    secret = json.dumps(jwk("ES256")).encode()
    signing_input = unsigned({"alg": "HS256", "kid": "one"}, claims()).rpartition(".")[0]
    signature = hmac.digest(secret, signing_input.encode(), "sha256")
    text = f"{signing_input}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"
    assert why(text).reason == "the token's algorithm is not one that is served"


def test_a_symmetric_key_of_the_set_is_left_out() -> None:
    oct_key = {"kty": "oct", "k": base64.urlsafe_b64encode(b"s" * 32).decode(), "kid": "one"}
    keys = Keys(jwk("ES256", "other"), oct_key)
    signed = jwt.encode(claims(), b"s" * 32, "HS256", {"kid": "one"})
    assert "algorithm" in why(signed, keys).reason


@pytest.mark.parametrize("critical", [["b64"], ["exp"], [], "b64", None])
def test_extensions_that_must_be_understood(critical: object) -> None:
    header = {"alg": "ES256", "kid": "one", "crit": critical, "b64": True}
    assert why(unsigned(header, claims())).message == ""


@pytest.mark.parametrize("end", [0, 1, -1])
def test_a_token_that_was_changed(end: int) -> None:
    head, payload, signature = token().split(".")
    other = unsigned({}, claims(sub="root")).split(".")[1]
    changed = [f"{head}.{other}.{signature}", f"{head}.{payload}.", f"{head}.{payload}"][end]
    assert why(changed).message == ""


def test_a_key_that_is_not_there_is_looked_for() -> None:
    keys = Keys(jwk("ES256"))
    assert why(token(kid="new"), keys).reason
    assert keys.misses == 1
    why(token(name="other", kid="one"), keys)
    assert keys.misses == 1


def test_without_keys_nothing_can_be_told() -> None:
    with pytest.raises(CannotTell, match="no keys to check tokens with"):
        checker(Keys()).check(token())


# -- claims -----------------------------------------------------------------------------------


def later(seconds: int) -> int:
    """A time from now, as in claims."""
    return int(time.time()) + seconds


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"exp": -31}, "the token has expired"),
        ({"exp": None}, "the token lacks a claim that is required"),
        ({"exp": "soon"}, "the token's claims are not as they should be"),
        ({"nbf": 60}, "the token is not valid yet"),
        ({"iat": 60}, "the token is not valid yet"),
        ({"aud": "other"}, "the token is not for this audience"),
        ({"aud": ["other", "another"]}, "the token is not for this audience"),
        ({"aud": None}, "the token lacks a claim that is required"),
        ({"aud": 5}, "the token is not for this audience"),
        ({"sub": None}, "the token has no claim sub to take the user of"),
        ({"sub": ""}, "the token has no claim sub to take the user of"),
        ({"sub": 5}, "the token's claims are not as they should be"),
        ({"sub": "*"}, "the token's claim sub is '*' or has control characters"),
        ({"sub": "alice\nbob"}, "the token's claim sub is '*' or has control characters"),
        ({"sub": "alice\x00"}, "the token's claim sub is '*' or has control characters"),
        ({"sub": "alice\x1b[2K"}, "the token's claim sub is '*' or has control characters"),
    ],
)
def test_wrong_claims(wrong: dict[str, Any], reason: str) -> None:
    more: dict[str, Any] = {
        name: later(value) if name in TIMES and isinstance(value, int) else value
        for name, value in wrong.items()
    }
    failure = why(token(**more))
    assert failure.reason == reason
    assert failure.message == reason


@pytest.mark.parametrize("user", ["alice*", "Ålice Å", "alice@example.org", "日本"])
def test_other_names_are_names(user: str) -> None:
    assert checker().check(token(sub=user)).user == user


def test_the_issuer() -> None:
    assert checker(issuer=ISSUER).check(token(iss=ISSUER)).user == "alice"
    assert "another issuer" in why(token(iss="https://localhost/other"), issuer=ISSUER).reason
    assert "required" in why(token(), issuer=ISSUER).reason


def test_one_of_several_audiences() -> None:
    assert checker().check(token(aud=["other", AUDIENCE])).user == "alice"


def test_clocks_may_differ() -> None:
    assert checker().check(token(exp=int(time.time()) - 10)).user == "alice"
    assert checker().check(token(nbf=int(time.time()) + 10)).user == "alice"
    late = token(exp=int(time.time()) - 1)
    assert why(late, clock_skew_seconds=0.0).reason == "the token has expired"


def test_another_claim_for_the_user() -> None:
    assert checker(principal_claim="azp").check(token(azp="app")).user == "app"
    assert "azp" in why(token(), principal_claim="azp").reason


@pytest.mark.parametrize(
    ("name", "value", "wanted", "fits"),
    [
        ("groups", "kafka", "kafka", True),
        ("groups", ["other", "kafka"], "kafka", True),
        ("groups", ["other"], "kafka", False),
        ("groups", "kafka other", "kafka", False),
        ("scope", "openid kafka", "kafka", True),
        ("scope", "openid kafkaesque", "kafka", False),
        ("level", 3, "3", True),
        ("admin", True, "true", True),
        ("admin", True, "True", False),
        ("groups", None, "null", False),
        ("groups", {"kafka": 1}, "kafka", False),
    ],
)
def test_required_claims(name: str, value: object, wanted: str, fits: bool) -> None:
    more: dict[str, Any] = {name: value}
    signed, required = token(**more), {name: wanted}
    if fits:
        assert checker(required_claims=required).check(signed).user == "alice"
    else:
        failure = why(signed, required_claims=required)
        assert failure.message == f"the token's claim {name} is not as required"


# -- when it ends -----------------------------------------------------------------------------


def test_a_session_ends_with_its_token() -> None:
    end = int(time.time()) + 60
    assert checker().check(token(exp=end)).expires == end


def test_one_that_is_accepted_late_ends_when_it_would_not_be() -> None:
    end = int(time.time()) - 10
    assert checker().check(token(exp=end)).expires == end + 30


@pytest.mark.parametrize("end", [10**12, 10**300])
def test_no_token_lasts_for_ever(end: int) -> None:
    assert time.time() < checker().check(token(exp=end)).expires < time.time() + 11 * 365 * 86_400


# -- garbage ----------------------------------------------------------------------------------


@given(
    text=st.one_of(
        st.text(max_size=80),
        st.from_regex(r"[A-Za-z0-9_-]{0,40}(\.[A-Za-z0-9_-]{0,40}){0,4}", fullmatch=True),
        st.builds(
            unsigned,
            st.dictionaries(
                st.sampled_from(["alg", "kid", "typ", "b64", "crit", "zip"]),
                st.one_of(
                    st.none(),
                    st.booleans(),
                    st.integers(),
                    st.text(max_size=5),
                    st.sampled_from(["ES256", "one"]),
                    st.lists(st.text(max_size=3), max_size=2),
                ),
            ),
            st.just({}),
            st.binary(max_size=70),
        ),
    )
)
def test_garbage_is_rejected(text: str) -> None:
    assert why(text).message == ""
