"""Error texts of brokers in the client's names: the names in them change, and no other word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.catalog.entities import TopicEntry
from gateway.catalog.snapshot import Snapshot
from gateway.names import LogicalName
from gateway.rules.error_text import ERROR_TEXT, MAX_STRING, TextFacts, restored, text_edits
from gateway.views.view import View, ViewSettings

# Of Kafka 4.3.1: ReplicationControlManager, Topic.validate, ConfigurationControlManager,
# ControllerApis; ``{}`` is the requested topic, ``[]`` a topic that was not requested.
TEXTS = (
    "Topic '{}' already exists.",
    "Topic '{}' collides with existing topic: []",
    "Topic '{}' collides with existing topics: [], []",
    "Topic name is invalid: '{}' is not allowed",
    "Topic name is invalid: the length of '{}' is longer than the max allowed length 249",
    "Unable to replicate the partition 3 time(s): The target replication factor of 3 cannot be"
    " reached because only 1 broker(s) are registered or some brokers have all their log"
    " directories cordoned.",
    "Number of partitions was set to an invalid non-positive value.",
    "Invalid value soon for configuration retention.ms: Not a number of type LONG",
    "Invalid value x for configuration cleanup.policy: String must be one of: compact, delete",
    "Unknown topic config name: what",
    "Duplicate topic name.",
    "This server does not host this topic-partition.",
    "The topic {} has no such partition.",
)
SNAPSHOT = Snapshot.of(
    ["team-a:sub", "team-b"], topics=[TopicEntry("old.calls", LogicalName("team-a", "calls"))]
)
SETTINGS = {
    "root": ViewSettings("test"),
    "legal": ViewSettings("test", "legal"),
    "home": ViewSettings("test", home="team-a"),
    "home with escape": ViewSettings("test", home="team-a", escape=True),
    "legal home with escape": ViewSettings("test", "legal", home="team-a", escape=True),
}
WORDS = sorted({word.strip("'.,:()") for text in TEXTS for word in text.split() if word.isalpha()})
plain = st.sampled_from(WORDS) | st.sampled_from(["dd", "a.b", "a_b", "retention.ms", "3"])
topics = st.sampled_from(["orders", "already", "Topic", "a.b"])
own = st.builds("{}..{}".format, st.sampled_from(["team-a", "team-a.sub", "team-b"]), topics)
flats = plain | own | st.just("old.calls")


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("listener", SETTINGS)
@given(asked=flats, others=st.lists(flats, min_size=2, max_size=2))
def test_names_change_and_nothing_else(
    listener: str, text: str, asked: str, others: list[str]
) -> None:
    view = View(SETTINGS[listener], SNAPSHOT)
    spelled = view.spell(asked.encode())
    if spelled is None:
        return  # it cannot be requested here

    def written(name: str, *more: str) -> str:
        done = text.replace("{}", name)
        for other in more:
            done = done.replace("[]", other, 1)
        return done

    said = written(asked, *others)
    shown = [(view.spell(other.encode()) or b"(another topic)").decode() for other in others]
    is_word = "{}" in text and "'{}'" not in text
    if is_word and ".." not in asked and asked != "old.calls":
        expected = written(asked, *shown)  # unquoted it is a word like the others
    else:
        expected = written(spelled.decode(), *shown)
    facts = TextFacts(view.spell, view, {asked.encode()})
    assert restored(said.encode(), facts).decode() == expected


@pytest.mark.parametrize("name", ["already", "exists", "Topic", "dd", "a.b"])
def test_a_home_with_escape_spells_the_name_alone(name: str) -> None:
    view = View(SETTINGS["home with escape"], SNAPSHOT)
    facts = TextFacts(view.spell, view, {name.encode()})
    text = restored(f"Topic '{name}' already exists.".encode(), facts)
    assert text.decode() == f"Topic ':{name}' already exists."


@pytest.mark.parametrize("listener", SETTINGS)
def test_what_is_hidden_is_not_told(listener: str) -> None:
    view = View(SETTINGS[listener], SNAPSHOT)
    facts = TextFacts(lambda flat: None, view, {b"team-a..a_b"})
    for hidden in ("team-a..a.b", "team-b..x", "a.b"):
        text = f"Topic 'x' collides with existing topic: {hidden}"
        told = restored(text.encode(), facts)
        assert told == b"Topic 'x' collides with existing topic: (another topic)"


def test_a_home_s_prefix_is_taken_off_groups() -> None:
    view = View(SETTINGS["home"], SNAPSHOT)
    facts = TextFacts(view.spell, view)
    assert restored(b"Group team-a..app not found.", facts) == b"Group app not found."


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Connection to node 2 (kafka-2.internal/10.0.0.2:9092) failed.", "({}) failed."),
        ("Cannot reach kafka-2.internal:9092.", "reach {}."),
        ("Cannot reach kafka-2/<unresolved>:9092.", "reach {}."),
        ("Cannot reach /10.0.0.2:9092 now", "reach {} now"),
        ("Cannot reach kafka-2/[fd00:0:0:0:0:0:0:2]:9092 now", "reach {} now"),
        ("Cannot reach [fd00::2%eth0]:9092 now", "reach {} now"),
        ("Cannot reach /fd00:0:0:0:0:0:0:2:9092 now", "reach {} now"),
        ("Log directory /var/lib/kafka/data-1 is offline.", "directory (a path) is offline."),
        ("'/mnt/a/b.log' of topic 3/4", "'(a path)' of topic 3/4"),
        ("A ratio of 1/2, and/or x:y", "A ratio of 1/2, and/or x:y"),
    ],
)
def test_addresses_and_paths_are_withheld(said: str, told: str) -> None:
    """As Java writes a socket's address, and brokers their log directories."""
    view = View(SETTINGS["root"], SNAPSHOT)
    text = restored(said.encode(), TextFacts(view.spell, view)).decode()
    assert text.endswith(told.format("(a broker)"))
    for secret in ("kafka-2", "10.0.0", "fd00", "/var", "/mnt", "data-1"):
        assert secret not in text


@pytest.mark.parametrize("flexible", [False, True])
def test_a_text_stays_a_string_of_kafka(flexible: bool) -> None:
    """The names may be longer than the flat names."""
    long = "é" * 249

    def shown(flat: bytes) -> bytes:
        return long.encode()

    text = b" ".join([b"team-a..x"] * 200)
    facts = TextFacts(shown, View(SETTINGS["root"], SNAPSHOT))
    ((_, _, new),) = text_edits([(ERROR_TEXT, 0, len(text), text)], flexible, facts)
    assert MAX_STRING - 10 < len(new) <= MAX_STRING + 3
    new[3 if flexible else 2 :].decode()
