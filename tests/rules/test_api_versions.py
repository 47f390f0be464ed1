"""ApiVersions: the versions both sides know, and KIP-511's client software."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gateway.apis.table import APIS
from gateway.rules import api_versions
from gateway.rules.api_versions import InvalidClientSoftware
from gateway.rules.declaration import Declaration
from protocol import messages
from protocol.errors import ProtocolError
from protocol.messages import element_class, make

Ranges = dict[int, tuple[int, int]]


def deciding(ranges: Ranges) -> dict[int, Declaration]:
    """The declarations of these APIs, as if other versions were decided."""
    return {key: replace(APIS[key], span=span) for key, span in ranges.items()}


def served(version: int, ranges: Ranges, **values: object) -> bytes:
    cls = messages.message_class("ApiVersionsResponse", version)
    entry = element_class(cls, "api_keys")
    api_keys = tuple(
        make(entry, {"api_key": key, "min_version": first, "max_version": last})
        for key, (first, last) in ranges.items()
    )
    return messages.write(make(cls, {"api_keys": api_keys, **values}))


def ranges_of(version: int, body: bytes) -> Ranges:
    response = messages.parse("ApiVersionsResponse", version, body)
    return {e.api_key: (e.min_version, e.max_version) for e in response.api_keys}


@pytest.mark.parametrize("version", range(5))
def test_only_what_both_know_is_advertised(version: int) -> None:
    broker = {1: (4, 18), 3: (0, 13), 8: (2, 9), 15: (0, 6), 28: (0, 1), 999: (0, 0)}
    decided = deciding({1: (4, 15), 3: (0, 13), 8: (5, 10), 15: (7, 9), 28: (2, 3), 60: (0, 2)})
    cut = api_versions.cut(version, served(version, broker), decided)
    assert ranges_of(version, cut) == {1: (4, 15), 3: (0, 13), 8: (5, 9)}


def test_a_kafka_4_broker() -> None:
    broker = {0: (0, 13), 1: (4, 18), 19: (2, 7), 24: (0, 5)}
    cut = api_versions.cut(4, served(4, broker), APIS)
    own = {key: (api.first, api.last) for key, api in APIS.items() if api.answered_here}
    assert ranges_of(4, cut) == {0: (0, 13), 1: (4, 15), 19: (0, 7), 24: (0, 3)} | own


@pytest.mark.parametrize("broker", [{}, {29: (0, 1), 50: (0, 9)}, {30: (4, 5)}])
def test_what_is_answered_here_is_advertised_whatever_the_broker_serves(broker: Ranges) -> None:
    decided = deciding({29: (1, 3), 30: (1, 3), 50: (0, 0), 3: (0, 13)})
    own = {29: (1, 3), 30: (1, 3), 50: (0, 0)}
    body = served(4, {3: (0, 9), **broker})
    assert ranges_of(4, api_versions.cut(4, body, decided)) == {3: (0, 9)} | own
    answer = api_versions.before_login(4, messages.parse("ApiVersionsResponse", 4, body), decided)
    assert ranges_of(4, answer) == {3: (0, 9)} | own


def test_an_unsupported_version_is_answered_as_the_broker_does() -> None:
    body = served(0, {18: (0, 4)}, error_code=35)
    decided = deciding({18: (0, 4), 29: (1, 3)})
    assert ranges_of(0, api_versions.cut(4, body, decided)) == {18: (0, 4)}


def test_create_topics_is_not_translated_to_what_the_broker_lacks() -> None:
    decided = deciding({19: (0, 7)})
    assert ranges_of(4, api_versions.cut(4, served(4, {19: (0, 1)}), decided)) == {19: (0, 1)}
    assert ranges_of(4, api_versions.cut(4, served(4, {19: (5, 9)}), decided)) == {19: (5, 7)}


def test_produce_without_a_served_version_is_not_advertised() -> None:
    decided = deciding({0: (3, 13)})
    assert ranges_of(4, api_versions.cut(4, served(4, {0: (0, 2)}), decided)) == {}


def test_features_are_kept() -> None:
    cls = messages.message_class("ApiVersionsResponse", 4)
    feature = make(
        element_class(cls, "supported_features"),
        {"name": "group.version", "min_version": 0, "max_version": 1},
    )
    finalized = make(
        element_class(cls, "finalized_features"),
        {"name": "group.version", "min_version_level": 1, "max_version_level": 1},
    )
    body = served(
        4,
        {3: (0, 13)},
        supported_features=(feature,),
        finalized_features=(finalized,),
        finalized_features_epoch=12,
    )
    cut = api_versions.cut(4, body, deciding({3: (0, 13)}))
    response = messages.parse("ApiVersionsResponse", 4, cut)
    assert response.supported_features == (feature,)
    assert response.finalized_features == (finalized,)
    assert response.finalized_features_epoch == 12


def test_a_broker_that_does_not_know_the_version_answers_in_version_0() -> None:
    body = served(0, {18: (0, 3)}, error_code=35)
    cut = api_versions.cut(4, body, APIS)
    assert ranges_of(0, cut) == {18: (0, 3)}
    assert messages.parse("ApiVersionsResponse", 0, cut).error_code == 35


def test_the_answer_to_an_unknown_version_names_what_is_known() -> None:
    body = api_versions.unsupported_version((0, 3))
    assert body[:2] == b"\x00\x23"
    assert ranges_of(0, body) == {18: (0, 3)}


def software(version: int, name: str, software_version: str) -> bytes:
    cls = messages.message_class("ApiVersionsRequest", version)
    values = {"client_software_name": name, "client_software_version": software_version}
    return messages.write(make(cls, values))


@pytest.mark.parametrize("version", [3, 4])
def test_the_client_says_who_it_is(version: int) -> None:
    body = software(version, "apache-kafka-java", "4.3.1")
    assert api_versions.client_software(version, body) == ("apache-kafka-java", "4.3.1")


@pytest.mark.parametrize("version", [0, 1, 2])
def test_an_old_client_does_not(version: int) -> None:
    assert api_versions.client_software(version, b"") == ("unknown", "unknown")


@pytest.mark.parametrize(
    ("name", "software_version"),
    [("", "1"), ("a", ""), ("-a", "1"), ("a-", "1"), ("a b", "1"), ("a", "1\n"), ("a", "é")],
)
def test_kip_511_limits_what_it_may_say(name: str, software_version: str) -> None:
    with pytest.raises(InvalidClientSoftware):
        api_versions.client_software(3, software(3, name, software_version))


def test_garbage_is_a_protocol_error() -> None:
    with pytest.raises(ProtocolError):
        api_versions.client_software(3, b"\x09")
    with pytest.raises(ProtocolError):
        api_versions.cut(4, b"\x00", APIS)


# -- before a login -------------------------------------------------------------------------------


def asked(version: int, **values: object) -> Any:
    """The response of a broker to a request in this version."""
    body = served(version, {0: (0, 13), 1: (4, 18), 99: (0, 0)}, **values)
    return messages.parse("ApiVersionsResponse", version, body)


@pytest.mark.parametrize("version", range(5))
@pytest.mark.parametrize("broker", range(5))
def test_before_a_login_the_same_is_advertised(version: int, broker: int) -> None:
    answer = api_versions.before_login(version, asked(broker), APIS)
    later = api_versions.cut(4, served(4, {0: (0, 13), 1: (4, 18)}), APIS)
    assert ranges_of(version, answer) == ranges_of(4, later)


@pytest.mark.parametrize(("version", "names"), [(3, ["one"]), (4, ["zero", "one"])])
def test_features_that_begin_at_0_are_for_those_who_know_them(
    version: int, names: list[str]
) -> None:
    """KIP-1022."""
    cls = messages.message_class("ApiVersionsResponse", 4)
    supported = element_class(cls, "supported_features")
    finalized = element_class(cls, "finalized_features")
    response = asked(
        4,
        supported_features=tuple(
            make(supported, {"name": name, "min_version": lowest, "max_version": 2})
            for name, lowest in (("zero", 0), ("one", 1))
        ),
        finalized_features=(
            make(finalized, {"name": "zero", "min_version_level": 1, "max_version_level": 2}),
        ),
        finalized_features_epoch=7,
    )
    body = api_versions.before_login(version, response, APIS)
    answer = messages.parse("ApiVersionsResponse", version, body)
    assert [feature.name for feature in answer.supported_features] == names
    assert [feature.name for feature in answer.finalized_features] == ["zero"]
    assert answer.finalized_features_epoch == 7


@pytest.mark.parametrize("version", range(5))
def test_a_rejection(version: int) -> None:
    answer = messages.parse("ApiVersionsResponse", version, api_versions.rejected(version, 42))
    assert (int(answer.error_code), answer.api_keys) == (42, ())
