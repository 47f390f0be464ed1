from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.mounts import MAX_NUMBER
from gateway.node_ids import virtual_node_id
from gateway.referrals.numbers import Numbers, bears_number
from protocol import messages
from protocol.schema import message_versions


def test_a_number_is_recorded_at_first_sight_and_expected_from_then_on() -> None:
    numbers = Numbers({"la": 1})
    assert numbers.known == {}
    assert numbers.believes("ny", 7)
    assert numbers.known == {"ny": 7}
    assert numbers.believes("ny", 7)
    assert not numbers.believes("ny", 8)
    assert numbers.known == {"ny": 7}
    # 8 is free, because it was not believed.
    assert numbers.believes("tokyo", 8)
    assert dict(numbers.known) == {"ny": 7, "tokyo": 8}


@pytest.mark.parametrize(
    ("mount", "number", "believed"),
    [
        ("tokyo", 9, True),
        ("tokyo", 1, False),  # this gateway's own
        ("tokyo", 7, False),  # another's
        ("tokyo", 0, False),
        ("tokyo", -7, False),
        ("tokyo", MAX_NUMBER, True),
        ("tokyo", MAX_NUMBER + 1, False),
        ("ny:x", 7, False),
        ("la", 1, True),
        ("la", 9, False),
        ("", 9, True),
    ],
)
def test_which_number_is_believed(mount: str, number: int, believed: bool) -> None:
    numbers = Numbers({"la": 1, "la:ads": 2}, {"ny": 7})
    assert numbers.believes(mount, number) is believed
    recorded = believed and mount != "la"
    assert numbers.known == ({"ny": 7, mount: number} if recorded else {"ny": 7})


def test_what_is_recorded_continues_after_a_restart() -> None:
    before = Numbers({"la": 1})
    assert before.believes("ny", 7)
    kept = dict(before.known)
    after = Numbers({"la": 1}, kept)
    assert after.known == kept
    assert not after.believes("ny", 8)
    assert not after.believes("tokyo", 7)
    # The input stays unchanged.
    assert after.believes("tokyo", 8)
    assert kept == {"ny": 7}
    assert before.known == {"ny": 7}


def test_what_contradicts_the_configuration_is_left_out() -> None:
    known = {"la": 5, "ny": 1, "tokyo": 8, "osaka": 8, "sf": 0, "rio": MAX_NUMBER + 1, "lima": 9}
    numbers = Numbers({"la": 1}, known)
    assert numbers.known == {"tokyo": 8, "lima": 9}
    assert numbers.believes("la", 1)
    assert numbers.believes("ny", 5)


def test_the_recorded_ones_cannot_be_changed_from_outside() -> None:
    known: Any = Numbers({}, {"ny": 7}).known
    with pytest.raises(TypeError):
        known["tokyo"] = 8


@given(
    st.dictionaries(st.sampled_from("ab"), st.integers(1, 3), max_size=2),
    st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 6))),
)
def test_no_two_mounts_ever_have_one_number(
    own: dict[str, int], told: list[tuple[str, int]]
) -> None:
    numbers = Numbers(own)
    believed: dict[str, int] = {}
    contested: set[int] = set()
    for mount, number in told:
        if numbers.believes(mount, number):
            assert believed.get(mount) in {None, number, *contested}
            believed[mount] = number
        elif numbers.holder(number) not in {None, mount}:
            contested.add(number)
        others = {each: n for each, n in numbers.known.items() if each not in own}
        assert others == dict(numbers.known)
        assert len(set(others.values())) == len(others)
        assert not set(others.values()) & set(own.values())


def test_a_contested_number_is_the_first_ones_until_that_one_has_another() -> None:
    """Only operators know which of two is wrong; once it is mended, all is well."""
    numbers = Numbers({"la": 1})
    assert numbers.believes("liar", 7)
    assert not numbers.believes("ny", 7)
    assert (numbers.holder(7), numbers.of("ny")) == ("liar", None)
    assert numbers.believes("liar", 7)
    assert not numbers.believes("liar", 1)
    changes: list[dict[str, int]] = []
    numbers.on_change = lambda: changes.append(dict(numbers.known))
    assert numbers.believes("liar", 8)
    assert changes == [{"liar": 8}]
    assert numbers.believes("ny", 7)
    assert numbers.known == {"liar": 8, "ny": 7}
    assert not numbers.believes("liar", 9), "nobody lays claim to 8"


def test_a_contested_number_is_kept_over_a_restart_and_still_is_mended() -> None:
    before = Numbers({"la": 1})
    assert before.believes("liar", 7)
    assert not before.believes("ny", 7)
    after = Numbers({"la": 1}, dict(before.known))
    assert not after.believes("liar", 8), "nobody else has been heard since"
    assert not after.believes("ny", 7)
    assert after.believes("liar", 8)
    assert after.believes("ny", 7)


def test_what_the_configuration_settles_no_gateway_can_claim() -> None:
    numbers = Numbers({"la": 1}, {"liar": 7, "other": 8}, settled={"ny": 7})
    assert numbers.known == {"ny": 7, "other": 8}
    assert not numbers.believes("liar", 7)
    assert numbers.holder(7) == "ny"
    assert numbers.believes("ny", 7)
    assert not numbers.believes("ny", 9)
    assert numbers.believes("liar", 9)


def test_the_numbers_of_mounts_that_nobody_here_can_reach_are_not_recorded() -> None:
    """A gateway may lay claim to any number for any path below its own."""
    numbers = Numbers({"la": 1}, recorded={"ny"})
    assert all(numbers.believes(f"liar:{number}", number) for number in range(2, 10))
    assert numbers.known == {}
    assert not numbers.believes("liar:x", 1)
    assert numbers.believes("ny", 7)
    assert not numbers.believes("liar:x", 7)


def broker(node_id: int) -> dict[str, Any]:
    return {"node_id": node_id, "host": "gateway", "port": 9093, "rack": None}


def metadata(version: int, *, brokers: Any = (), controller: Any = -1, **partition: Any) -> bytes:
    partition = {"error_code": 0, "partition_index": 0, "leader_id": -1, **partition}
    topics = [{"error_code": 0, "name": "ny:orders", "partitions": [partition]}]
    values = {
        "brokers": [broker(node_id) for node_id in brokers],
        "controller_id": controller,
        "topics": topics,
    }
    return messages.made("MetadataResponse", version, values)


OURS = virtual_node_id(7, 1)
MOST = virtual_node_id(7, 65_535)
OTHERS = virtual_node_id(8, 0)
METADATA = message_versions("MetadataResponse")


@pytest.mark.parametrize("version", METADATA)
def test_metadata_of_the_mount(version: int) -> None:
    whole: dict[str, Any] = {
        "brokers": [OURS, MOST],
        "leader_id": OURS,
        "replica_nodes": [OURS, MOST],
        "isr_nodes": [MOST],
        "offline_replicas": [OURS],
        "controller": MOST,
    }
    assert bears_number("Metadata", version, metadata(version, **whole), 7)
    assert not bears_number("Metadata", version, metadata(version, **whole), 8)
    assert bears_number("Metadata", version, metadata(version), 7)


@pytest.mark.parametrize("wrong", [OTHERS, virtual_node_id(6, 65_535), 1, 0, 1 << 30, 2**31 - 1])
@pytest.mark.parametrize(
    ("field", "since", "until"),
    [
        ("brokers", 0, 99),
        ("leader_id", 0, 99),
        ("replica_nodes", 0, 99),
        ("isr_nodes", 0, 99),
        ("offline_replicas", 5, 99),
        ("controller", 1, 99),
    ],
)
def test_one_node_id_of_another_mount_is_enough(
    wrong: int, field: str, since: int, until: int
) -> None:
    alone = field in ("leader_id", "controller")
    for version in METADATA:
        if since <= version <= until:
            for last, bears in ((wrong, False), (OURS, True)):
                values: dict[str, Any] = {field: last if alone else [OURS, last]}
                body = metadata(version, **values)
                assert bears_number("Metadata", version, body, 7) is bears


@pytest.mark.parametrize("version", message_versions("FindCoordinatorResponse"))
def test_coordinators(version: int) -> None:
    def body(node_id: int) -> bytes:
        coordinator = {"key": "group", "node_id": node_id, "host": "gateway", "port": 9093}
        values = {**coordinator, "coordinators": [coordinator]}
        return messages.made("FindCoordinatorResponse", version, values)

    assert bears_number("FindCoordinator", version, body(OURS), 7)
    assert bears_number("FindCoordinator", version, body(-1), 7)
    assert not bears_number("FindCoordinator", version, body(-2), 7)
    assert not bears_number("FindCoordinator", version, body(OTHERS), 7)


@pytest.mark.parametrize("version", message_versions("DescribeClusterResponse"))
def test_brokers_of_a_cluster(version: int) -> None:
    def body(node_id: int, controller: int = -1) -> bytes:
        brokers = [{"broker_id": node_id, "host": "gateway", "port": 9093}]
        values = {"brokers": brokers, "controller_id": controller, "cluster_id": "c"}
        return messages.made("DescribeClusterResponse", version, values)

    assert bears_number("DescribeCluster", version, body(OURS), 7)
    assert not bears_number("DescribeCluster", version, body(OTHERS), 7)
    assert not bears_number("DescribeCluster", version, body(OURS, OTHERS), 7)


def test_an_id_in_a_tagged_field() -> None:
    """Produce v10 names the new leader there, and its address; the end of a field is no node id."""
    partition = {"index": 0, "current_leader": {"leader_id": OURS, "leader_epoch": 1}}
    values: dict[str, Any] = {
        "responses": [{"name": "ny:orders", "partition_responses": [partition]}],
        "node_endpoints": [broker(OURS)],
    }
    assert bears_number("Produce", 10, messages.made("ProduceResponse", 10, values), 7)
    values["node_endpoints"] = [broker(OURS), broker(OTHERS)]
    assert not bears_number("Produce", 10, messages.made("ProduceResponse", 10, values), 7)


def test_what_has_no_node_ids_has_no_wrong_ones() -> None:
    body = messages.made("ListGroupsResponse", 4, {"groups": []})
    assert bears_number("ListGroups", 4, body, 7)


def test_a_body_that_is_not_this_apis_does_not_bear_the_number() -> None:
    body = metadata(9, brokers=[OURS], leader_id=OURS)
    assert bears_number("Metadata", 9, body, 7)
    for end in range(len(body)):
        assert not bears_number("Metadata", 9, body[:end], 7)
    assert not bears_number("Metadata", 9, body + b"\x00", 7)
    assert not bears_number("Metadata", 99, body, 7)
    assert not bears_number("NoSuch", 9, body, 7)


def test_a_long_body_is_looked_at_to_its_end() -> None:
    nodes = [OURS] * 20_000
    assert bears_number("Metadata", 9, metadata(9, replica_nodes=nodes, isr_nodes=nodes), 7)
    wrong = [*nodes, OTHERS]
    assert not bears_number("Metadata", 9, metadata(9, replica_nodes=nodes, isr_nodes=wrong), 7)
