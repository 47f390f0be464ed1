"""gateway.tls.principal_mapping: rules for names.

tests/live/authentication/test_tls_oracle.py compares them with Kafka's."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.tls.principal_mapping import InvalidRules, NoMatchingRule, PrincipalMapping

DUKE = "CN=Duke,OU=ServiceUsers,O=Org,C=US"


def mapped(rules: str, name: str = DUKE) -> str | None:
    """The principal that the rules give for a name, or None if no rule matches."""
    try:
        return PrincipalMapping([rules]).name(name)
    except NoMatchingRule:
        return None


@pytest.mark.parametrize(
    ("rules", "principal"),
    [
        ("DEFAULT", DUKE),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/", "Duke"),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L", "duke"),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/U", "DUKE"),
        ("RULE:^CN=(.*?),OU=(.*?),O=(.*?),C=(.*?)$/$1@$2/L", "duke@serviceusers"),
        ("RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/L,DEFAULT", "duke"),
        ("RULE:^OU=.*$/x/, DEFAULT", DUKE),
        ("RULE:^OU=.*$/x/", None),
        ("RULE:CN=Duke/x/", None),  # not the whole name
        (" , DEFAULT , ", DUKE),  # rules without anything in them are no rules
        ("RULE:CN=(Duke),.*/a\\/b $1/", "a/b Duke"),
        ("RULE:CN=(Duke),.*/\\$1/", "$1"),
        ("RULE:CN=(Duke),.*/$1$2/", "Duke$2"),  # there is no second group
        ("RULE:CN=(Duke),.*/$12/", "Duke2"),
        ("RULE:CN=(Duke),.*/$0/", DUKE),
        ("RULE:CN=(Duke)(,X)?,.*/<$2>/", "<>"),
        ("RULE:(.*)/$1/", DUKE),
        ("RULE:.*/x/", "xx"),  # Java's replaceAll finds the empty end, too
    ],
)
def test_rules(rules: str, principal: str | None) -> None:
    assert mapped(rules) == principal


def test_the_first_match_decides() -> None:
    rules = ["RULE:CN=([a-z]+)/$1/", "RULE:CN=(.*)/other-$1/", "DEFAULT"]
    mapping = PrincipalMapping(rules)
    assert mapping.name("CN=alice") == "alice"
    assert mapping.name("CN=Alice") == "other-Alice"
    assert mapping.name("O=x") == "O=x"


def test_rules_in_a_list_are_as_rules_with_commas() -> None:
    rules = ["RULE:CN=(a.*)/$1/U", "RULE:CN=(b.*)/$1/", "DEFAULT"]
    for name in ("CN=ab", "CN=bc", "CN=cd"):
        assert mapped(",".join(rules), name) == PrincipalMapping(rules).name(name)


def test_a_principal_has_a_name() -> None:
    """A principal without a name could be anyone; Kafka would call it 'User:'."""
    assert mapped("RULE:(CN=.*)//, DEFAULT") is None
    assert mapped("DEFAULT", "") is None


@pytest.mark.parametrize(
    ("rules", "sentence"),
    [
        ("", "there is no rule, so nobody could connect; write DEFAULT"),
        (" , ,", "there is no rule, so nobody could connect; write DEFAULT"),
        ("default", "'default' is no rule; write DEFAULT or RULE:pattern/replacement/, with L or"),
        ("DEFAULT x", "'DEFAULT x' is no rule; "),
        ("RULE:a/b", "'RULE:a/b' is no rule; "),
        ("RULE:a/b/X", "'RULE:a/b/X' is no rule; "),
        ("RULE:a/b/LU", "'RULE:a/b/LU' is no rule; "),
        ("DEFAULT,RULE:a/b", "'RULE:a/b' is no rule; "),
        ("RULE:(/x/", "'(' is no regular expression of RE2: missing ): ("),
        ("RULE:(?=a)/x/", "'(?=a)' is no regular expression of RE2: invalid perl operator: (?="),
        (r"RULE:(a)\1/x/", r"'(a)\1' is no regular expression of RE2: invalid escape sequence: \1"),
        ("RULE:a{1001}/x/", "'a{1001}' is no regular expression of RE2: "),
        ("RULE:((a{1000}){1000}){1000}/x/", "'((a{1000}){1000}){1000}' is no regular expression"),
        (
            "RULE:[a-z&&[^b]]/x/",
            "'[a-z&&[^b]]' has '&&' in a character class; write it another way",
        ),
        ("RULE:[a[b]]/x/", "'[a[b]]' has '[' in a character class; write it another way"),
        ("RULE:[]a]/x/", "'[]a]' has ']' as the first member of a character class; write it"),
        ("RULE:[^]a]/x/", "'[^]a]' has ']' as the first member of a character class; write it"),
        ("RULE:[[:alpha:]]/x/", "'[[:alpha:]]' has '[' in a character class; write it another way"),
        ("RULE:(a)/$/", r"'$' has a $ without a number; write \$ for the sign"),
        ("RULE:(a)/$x/", r"'$x' has a $ without a number; write \$ for the sign"),
        ("RULE:(?P<n>a)/${n}/", r"'${n}' has a $ without a number; write \$ for the sign"),
        ("RULE:a/$1/", "'$1' has $1, the pattern has no group"),
    ],
)
def test_rules_that_cannot_be_used(rules: str, sentence: str) -> None:
    with pytest.raises(InvalidRules) as caught:
        PrincipalMapping([rules])
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        (r"\[a\]&&", "[a]&&"),  # outside of a class they are themselves
        (r"[\[&\]]+", "[&]"),
        (r"\Q[a[b]]&&\E", "[a[b]]&&"),
        (r"\Qa\E[bc]", "ac"),
        (r"[a-z]+&&", "b&&"),
    ],
)
def test_what_java_and_re2_read_alike(pattern: str, name: str) -> None:
    assert mapped(f"RULE:{pattern}/x/", name) == "x"


def test_a_pattern_that_backtracks_takes_no_longer() -> None:
    mapping = PrincipalMapping(["RULE:(a|aa|a*)*b/x/", "DEFAULT"])
    began = time.process_time()
    assert mapping.name("a" * 4_000) == "a" * 4_000
    assert time.process_time() - began < 1.0


@given(st.text(max_size=40), st.text(max_size=20))
def test_any_text_is_a_rule_or_rejected(rules: str, name: str) -> None:
    try:
        mapping = PrincipalMapping([rules, "DEFAULT"])
    except InvalidRules as error:
        assert str(error)
        return
    try:
        assert mapping.name(name)
    except NoMatchingRule:
        assert not name or "RULE:" in rules


@given(
    st.text(st.sampled_from("ab[]&^\\QE(.)*"), max_size=12),
    st.text(st.sampled_from("$0123\\a"), max_size=6),
    st.text(st.sampled_from("ab[]&"), max_size=8),
)
def test_any_pattern_is_used_or_rejected(pattern: str, replacement: str, name: str) -> None:
    try:
        mapping = PrincipalMapping([f"RULE:{pattern}/{replacement}/", "DEFAULT"])
    except InvalidRules as error:
        assert str(error)
        return
    try:
        mapping.name(name)
    except NoMatchingRule as error:
        assert str(error) == name
