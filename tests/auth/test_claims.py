"""gateway.auth.claims: the user that a client claims to be, in exchanges that a broker decides."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scramp import ScramClient, ScramException, ScramMechanism

from gateway.auth.claims import MECHANISMS, BrokerNonsense, Claim, claim_of
from gateway.auth.exchange import AuthenticationFailed
from tests.auth.bearer_tokens import bearer, jwt

FIRST = b"n,,n=alice,r=abc"
CHALLENGE = b"r=abcdef,s=AAAA,i=4096"
FINAL = b"c=biws,r=abcdef,p=AAAA"
OUTCOME = b"v=AAAA"


class TestPlain:
    @pytest.mark.parametrize("token", [b"\0alice\0secret", b"alice\0alice\0secret", b"\0alice\0"])
    def test_the_name_is_the_second_part(self, token: bytes) -> None:
        claim = claim_of("PLAIN")
        claim.sent(token)
        assert claim.user == "alice"
        assert claim.answered(b"")

    @pytest.mark.parametrize(
        ("token", "reason"),
        [
            (b"", "none of PLAIN"),
            (b"\0alice", "none of PLAIN"),
            (b"\0\0secret", "none of PLAIN"),
            (b"\0alice\0secret\0more", "none of PLAIN"),
            (b"bob\0alice\0secret", "another user"),
            (b"\0\xff\0secret", "not UTF-8"),
            (b"\xff\0alice\0secret", "not UTF-8"),
        ],
    )
    def test_what_does_not_pass(self, token: bytes, reason: str) -> None:
        with pytest.raises(AuthenticationFailed, match=reason):
            claim_of("PLAIN").sent(token)

    def test_there_is_one_token(self) -> None:
        claim = claim_of("PLAIN")
        claim.sent(b"\0alice\0wrong")
        with pytest.raises(AuthenticationFailed, match="one token"):
            claim.sent(b"\0bob\0secret")
        assert claim.user == "alice"

    def test_there_is_no_challenge(self) -> None:
        claim = claim_of("PLAIN")
        claim.sent(b"\0alice\0secret")
        with pytest.raises(BrokerNonsense, match="with a challenge"):
            claim.answered(b"more")


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
class TestScram:
    def test_proved_with_the_second_answer_and_not_before(self, mechanism: str) -> None:
        claim = claim_of(mechanism)
        claim.sent(FIRST)
        assert claim.user == "alice"
        assert not claim.answered(CHALLENGE)
        claim.sent(FINAL)
        assert claim.answered(OUTCOME)

    @pytest.mark.parametrize(
        ("token", "reason"),
        [
            (b"", "none of SCRAM"),
            (b"n,,n=,r=abc", "none of SCRAM"),
            (b"n,,n=alice,r=", "none of SCRAM"),
            (b"n,,r=abc,n=alice", "none of SCRAM"),
            (b"n,,n=alice,n=bob,r=abc", "none of SCRAM"),
            (b"n,,m=x,n=alice,r=abc", "none of SCRAM"),
            (b"p=tls-unique,,n=alice,r=abc", "none of SCRAM"),
            (b"y,,n=alice,r=abc", "none of SCRAM"),
            (b"n,,n=al=ice,r=abc", "none of SCRAM"),
            (b"n,,n=al=2cice,r=abc", "none of SCRAM"),
            (b"n,,n=al\0ice,r=abc", "none of SCRAM"),
            (b"n,,n=alice,r=abc\n", "none of SCRAM"),
            (b"n,,n=al\xffice,r=abc", "not UTF-8"),
            (b"n,a=bob,n=alice,r=abc", "another user"),
            (b"n,,n=alice,r=abc,tokenauth=true", "delegation tokens"),
            (b"n,,n=alice,r=abc,x=y,tokenauth=true", "extensions"),
            (b"n,,n=alice,r=abc,n=bob", "extensions"),
            (b"n,,n=alice,r=abc,", "extensions"),
        ],
    )
    def test_what_does_not_pass(self, mechanism: str, token: bytes, reason: str) -> None:
        claim = claim_of(mechanism)
        with pytest.raises(AuthenticationFailed, match=reason):
            claim.sent(token)

    def test_a_delegation_tokens_user_is_told_why(self, mechanism: str) -> None:
        with pytest.raises(AuthenticationFailed) as raised:
            claim_of(mechanism).sent(b"n,,n=token-id,r=abc,tokenauth=true")
        assert raised.value.message == "delegation tokens do not pass through here"

    def test_one_may_ask_to_act_for_oneself(self, mechanism: str) -> None:
        claim = claim_of(mechanism)
        claim.sent(b"n,a=a=2Cb=3D2C,n=a=2Cb=3D2C,r=abc")
        assert claim.user == "a,b=2C"

    @pytest.mark.parametrize(
        "token",
        [
            b"",
            FIRST,
            b"n,,n=bob,r=abcdef",
            b"c=biws,r=abc,p=AAAA",
            b"c=biws,r=abcdefg,p=AAAA",
            b"c=biws,r=abcdef,x=y,p=AAAA",
            b"c=biws,r=abcdef,p=AAAA,n=bob",
        ],
    )
    def test_what_does_not_pass_as_the_second_token(self, mechanism: str, token: bytes) -> None:
        claim = claim_of(mechanism)
        claim.sent(FIRST)
        claim.answered(CHALLENGE)
        with pytest.raises(AuthenticationFailed, match="second token"):
            claim.sent(token)

    def test_there_is_no_third_token(self, mechanism: str) -> None:
        claim = claim_of(mechanism)
        claim.sent(FIRST)
        claim.answered(CHALLENGE)
        claim.sent(FINAL)
        with pytest.raises(AuthenticationFailed, match="two tokens"):
            claim.sent(FINAL)

    @pytest.mark.parametrize(
        "challenge",
        [b"", OUTCOME, b"r=abc,s=AAAA,i=4096", b"r=xyz,s=AAAA,i=4096", b"r=abcdef,s=AAAA", b"\xff"],
    )
    def test_an_answer_that_is_no_challenge_proves_nothing(
        self, mechanism: str, challenge: bytes
    ) -> None:
        claim = claim_of(mechanism)
        claim.sent(FIRST)
        with pytest.raises(BrokerNonsense, match="none of SCRAM"):
            claim.answered(challenge)

    @pytest.mark.parametrize("outcome", [b"", b"v=", CHALLENGE, b"e=invalid-proof", b"\xff"])
    def test_an_answer_without_the_brokers_proof_proves_nothing(
        self, mechanism: str, outcome: bytes
    ) -> None:
        claim = claim_of(mechanism)
        claim.sent(FIRST)
        claim.answered(CHALLENGE)
        claim.sent(FINAL)
        with pytest.raises(BrokerNonsense, match="none of SCRAM"):
            claim.answered(outcome)

    @given(user=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20))
    @example(user="a=2Cb")
    @example(user=",=,")
    def test_the_name_is_the_one_that_a_broker_reads(self, mechanism: str, user: str) -> None:
        try:
            client = ScramClient([mechanism], user, "secret")
        except ScramException:
            return  # a name that SCRAM forbids
        seen: list[str] = []

        def look_up(name: str) -> Any:
            seen.append(name)
            return ScramMechanism(mechanism).make_auth_info("secret", iteration_count=4_096)

        server = ScramMechanism(mechanism).make_server(look_up)
        first = client.get_client_first()
        server.set_client_first(first)
        claim = claim_of(mechanism)
        claim.sent(first.encode())
        assert [claim.user] == seen


class TestOAuthBearer:
    @pytest.mark.parametrize(
        "token",
        [
            jwt({"sub": "alice"}),
            jwt({"sub": "alice"}, signature=""),
            jwt({"sub": "alice", "x": [{}]}),
        ],
    )
    def test_the_name_is_a_claim(self, token: str) -> None:
        claim = claim_of("OAUTHBEARER")
        claim.sent(bearer(token))
        assert claim.user == "alice"
        assert claim.answered(b"")

    def test_the_name_may_be_another_claim(self) -> None:
        claim = claim_of("OAUTHBEARER", "email")
        claim.sent(bearer(jwt({"sub": "x", "email": "alice@example"})))
        assert claim.user == "alice@example"

    @pytest.mark.parametrize(
        ("token", "reason"),
        [
            ("a.b", "no JWT"),
            ("a.b.c.d.e", "no JWT"),
            (jwt({"sub": "alice"}).replace(".", ".\t"), "no JWT"),
            (jwt("no json"), "cannot be read"),
            (jwt('{"sub": "alice", "sub": "bob"}'), "cannot be read"),
            (jwt('{"sub": "alice", "x": {"y": 1, "y": 2}}'), "cannot be read"),
            (jwt("[" * 5_000), "cannot be read"),
            (
                "e30." + base64.urlsafe_b64encode(b'{"sub":"\xff"}').decode().rstrip("=") + ".x",
                "read",
            ),
            (jwt(["alice"]), "no claim"),
            (jwt({}), "no claim"),
            (jwt({"sub": ""}), "no claim"),
            (jwt({"sub": " alice"}), "no claim"),
            (jwt({"sub": 7}), "no claim"),
            (jwt({"sub": ["alice"]}), "no claim"),
            (jwt({"sub": "*"}), "'\\*' or has control characters"),
            (jwt({"sub": "alice\x07bob"}), "'\\*' or has control characters"),
        ],
    )
    def test_what_does_not_pass(self, token: str, reason: str) -> None:
        with pytest.raises(AuthenticationFailed, match=reason):
            claim_of("OAUTHBEARER").sent(bearer(token))

    def test_nobody_acts_for_another(self) -> None:
        claim_of("OAUTHBEARER").sent(bearer(jwt({"sub": "alice"}), "alice"))
        with pytest.raises(AuthenticationFailed, match="another user"):
            claim_of("OAUTHBEARER").sent(bearer(jwt({"sub": "alice"}), "bob"))

    def test_after_a_challenge_the_client_only_asks_for_the_error(self) -> None:
        claim = claim_of("OAUTHBEARER")
        claim.sent(bearer(jwt({"sub": "alice"})))
        assert not claim.answered(b'{"status":"invalid_token"}')
        with pytest.raises(AuthenticationFailed, match="answers a challenge"):
            claim.sent(bearer(jwt({"sub": "bob"})))
        claim.sent(b"\x01")
        with pytest.raises(BrokerNonsense, match="accepts what it has challenged"):
            claim.answered(b"")

    def test_there_is_one_token(self) -> None:
        claim = claim_of("OAUTHBEARER")
        claim.sent(bearer(jwt({"sub": "alice"})))
        with pytest.raises(AuthenticationFailed, match="one token"):
            claim.sent(bearer(jwt({"sub": "bob"})))


@pytest.mark.parametrize("mechanism", MECHANISMS)
@given(tokens=st.lists(st.binary(max_size=80), max_size=4), challenge=st.binary(max_size=40))
def test_whatever_is_sent_nothing_else_is_raised(
    mechanism: str, tokens: list[bytes], challenge: bytes
) -> None:
    claim: Claim = claim_of(mechanism)
    try:
        for token in tokens:
            claim.sent(token)
            if claim.answered(challenge):
                assert claim.user
    except AuthenticationFailed:
        pass
