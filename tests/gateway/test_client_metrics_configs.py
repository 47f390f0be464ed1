"""The configs of a subscription of client metrics: what a broker accepts and rejects.

Expected errors and texts are those of Kafka 4.3.1 (ClientMetricsConfigs, ConfigDef.ValidList);
``tests/live/operations/test_client_metrics.py`` compares them with a broker's.
"""

import pytest

from gateway.client_metrics_configs import (
    MAX_ITEMS,
    WrongConfig,
    check,
    described,
)
from gateway.error_codes import INVALID_CONFIG, INVALID_REQUEST


def wrong(name: str = "latencies", **configs: str) -> tuple[int, str]:
    with pytest.raises(WrongConfig) as raised:
        check(name, {key.replace("_", "."): value for key, value in configs.items()})
    return raised.value.code, raised.value.message


@pytest.mark.parametrize(
    "configs",
    [
        {},
        {"metrics": ""},
        {"metrics": "*"},
        {"metrics": " org.apache.kafka.consumer. ,\torg.apache.kafka.producer. "},
        {"interval.ms": "100"},
        {"interval.ms": " +3600000 "},
        {"match": ""},
        {"match": " client_id = app-.* , client_software_version=4\\..*"},
        {"match": "client_id=a="},  # Java's split drops what is empty at the end
        {"match": "client_id=a,client_id=b"},
        {"metrics": "a,b, a"},  # twice is once
        {"metrics": ",".join(f"m{number}" for number in range(MAX_ITEMS))},
    ],
)
def test_what_a_broker_accepts(configs: dict[str, str]) -> None:
    check("latencies", configs)


@pytest.mark.parametrize(
    ("configs", "code", "text"),
    [
        ({"other": "1"}, INVALID_REQUEST, "Unknown client metrics configuration: other"),
        ({"metrics": "a,,b"}, INVALID_CONFIG, "Configuration 'metrics' values must not be empty."),
        ({"metrics": ","}, INVALID_CONFIG, "Configuration 'metrics' values must not be empty."),
        ({"match": "client_id=a,"}, INVALID_CONFIG, "Configuration 'match' values must not be emp"),
        (
            {"interval.ms": "soon"},
            INVALID_CONFIG,
            "Invalid value soon for configuration interval.ms: Not a number of type INT",
        ),
        ({"interval.ms": "2147483648"}, INVALID_CONFIG, "Invalid value 2147483648 for configur"),
        ({"interval.ms": "1_000"}, INVALID_CONFIG, "Invalid value 1_000 for configuration"),
        (
            {"interval.ms": "99"},
            INVALID_REQUEST,
            "Invalid value 99 for interval.ms, interval must be between 100 and 3600000 (1 hour)",
        ),
        ({"interval.ms": "3600001"}, INVALID_REQUEST, "Invalid value 3600001 for interval.ms,"),
        ({"match": "client_id"}, INVALID_CONFIG, "Illegal client matching pattern: client_id"),
        ({"match": "="}, INVALID_CONFIG, "Illegal client matching pattern: ="),
        ({"match": "client_id=a=b"}, INVALID_CONFIG, "Illegal client matching pattern: client_id="),
        ({"match": "principal=alice"}, INVALID_CONFIG, "Illegal client matching pattern: princ"),
        ({"match": "client_id=("}, INVALID_CONFIG, "Illegal client matching pattern: client_id=("),
    ],
)
def test_what_a_broker_rejects(configs: dict[str, str], code: int, text: str) -> None:
    with pytest.raises(WrongConfig) as raised:
        check("latencies", configs)
    assert raised.value.code == code
    assert raised.value.message.startswith(text)


def test_a_name_is_not_empty() -> None:
    assert wrong("") == (INVALID_REQUEST, "Subscription name can't be empty")


def test_expressions_that_only_java_has_are_rejected_with_the_reason() -> None:
    code, text = wrong(match="client_id=(?!test)app.*")
    assert code == INVALID_CONFIG
    assert text.startswith("Illegal client matching pattern: client_id=(?!test)app.* (this gateway")
    assert "RE2" in text and "(?!" in text.split("RE2", 1)[1]


def test_limits() -> None:
    code, text = wrong(metrics=",".join(f"m{number}" for number in range(MAX_ITEMS + 1)))
    assert (code, "at most 100 values in 'metrics'" in text) == (INVALID_CONFIG, True)
    code, text = wrong(match=",".join(f"client_id=m{number}" for number in range(MAX_ITEMS + 1)))
    assert (code, "at most 100 values in 'match'" in text) == (INVALID_CONFIG, True)
    code, text = wrong(metrics="m" * 32_768)
    assert (code, text) == (INVALID_CONFIG, "'metrics' is longer than 32,767 bytes.")
    code, text = wrong(metrics="\u20ac" * 10_923)
    assert (code, text) == (INVALID_CONFIG, "'metrics' is longer than 32,767 bytes.")
    code, text = wrong("n" * 32_770, metrics="m" * 32_767)
    assert (code, "at most 65,536 bytes" in text) == (INVALID_CONFIG, True)
    code, text = wrong(match="client_id=[a-z]{900}[a-z]{900}")
    assert (code, text.endswith("(the expression is too large)")) == (INVALID_CONFIG, True)
    dear = "(?:[ab]*a){240}"  # 484 instructions
    check("two", {"match": f"client_id={dear},client_id={dear}a,client_software_name={dear}"})
    code, text = wrong(
        match=f"client_id={dear},client_software_name={dear},client_software_version={dear}"
    )
    assert (code, text) == (
        INVALID_CONFIG,
        f"Illegal client matching pattern: client_software_version={dear}"
        " (the expressions together are too large)",
    )


def test_values_are_described_as_parsed() -> None:
    assert described("metrics", " a. ,\t b. ") == "a.,b."
    assert described("interval.ms", " +0500 ") == "500"
    assert described("match", "") == ""
    assert described("metrics", "b., a.,b.") == "b.,a."
