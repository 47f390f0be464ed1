"""gateway.commands.topics.create: the text it prints; test_create has the whole command."""

from __future__ import annotations

import pytest

from gateway.commands.answers import Config, Created
from gateway.commands.policies import Applied
from gateway.commands.topics.create import validated
from gateway.policies.applied_text import AppliedRule

ROW = AppliedRule("max_topics", "5", "warn", "policies.namespaces.org")
DONE = Created("t", 0, "NONE", "", partitions=3, replication_factor=2)
REFUSED = Created("t", 44, "POLICY_VIOLATION", "No.")


def test_a_config_without_a_value_and_defaults() -> None:
    configs = (
        Config("b", None, 4, False, False),
        Config("a", "1", 1, False, False),
        Config("c", "2", 5, False, False),
    )
    created = Created("t", 0, "NONE", "", partitions=3, replication_factor=2, configs=configs)
    output = validated("topic", "t", created, Applied("", None), accepted=True)
    assert output.text.splitlines()[3:] == [
        "config  value  source",
        "a       1      DYNAMIC_TOPIC_CONFIG",
        "b              STATIC_BROKER_CONFIG",
    ]


def test_of_what_is_rejected_the_policies_alone() -> None:
    output = validated("topic", "t", REFUSED, Applied("org", (ROW,)), accepted=False)
    assert output.text.splitlines() == [
        "policy      limit  mode  source",
        "max_topics  5      warn  policies.namespaces.org",
    ]
    assert output.notes == ()
    output = validated("topic", "t", REFUSED, Applied("org", None), accepted=False)
    assert (output.text, output.notes) == ("", ())


@pytest.mark.parametrize(
    ("created", "accepted", "told"),
    [
        (DONE, True, True),
        (REFUSED, False, True),
        (Created("t", 17, "INVALID_TOPIC_EXCEPTION", "No."), False, False),
    ],
)
def test_when_it_is_told_why_nobody_says(created: Created, accepted: bool, told: bool) -> None:
    applied = Applied("org", None, why="nobody says")
    output = validated("topic", "t", created, applied, accepted=accepted)
    assert output.notes == (("nobody says",) if told else ())


def test_json_of_a_rejection() -> None:
    said = validated("topic", "t", REFUSED, Applied("org", (ROW,), 2), accepted=False).content
    assert (said["created"], said["error"], said["message"]) == (False, "POLICY_VIOLATION", "No.")
    assert (said["partitions"], said["more_policies"]) == (None, 2)
    assert said["policies"] == [
        {
            "rule": "max_topics",
            "limit": "5",
            "mode": "warn",
            "source": "policies.namespaces.org",
        }
    ]
