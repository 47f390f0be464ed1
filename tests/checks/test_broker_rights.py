"""gateway.checks.broker_rights: the rights of an identity at brokers, and the findings from
them."""

from __future__ import annotations

from typing import Any, get_type_hints

import pytest

from gateway.acl_model import Operation
from gateway.checks.broker_rights import Rights, exposure, lacking, not_creatable, rights_of
from protocol import messages
from protocol.messages import Request
from protocol.schema import field_type
from tests.brokers.asks_no_broker import AsksNoBroker

NOT_TOLD = -(2**31)

CLIENTS_KEY = ("clusters", 0, "security")
OWN_KEY = ("catalog", "security")


class Asked(AsksNoBroker):
    """Brokers with these responses."""

    def __init__(self, code: int = 0, operations: int = NOT_TOLD, ended: int = 49) -> None:
        self.code = code
        self.operations = operations
        self.ended = ended
        self.requests: list[Any] = []

    async def ask(self, request: Request, *, changes: bool = True) -> Any:
        """The response; the request may change nothing."""
        assert not changes
        self.requests.append(request.entity(request.at_most))
        cls = messages.message_class(request.name.replace("Request", "Response"), request.at_most)
        if request.name == "EndTxnRequest":
            return messages.build(cls, error_code=self._error(cls, self.ended))
        topic: Any = field_type(get_type_hints(cls)["topics"])[0]
        made = messages.build(
            topic,
            name="__kafka_gateway_catalog",
            error_code=self._error(topic, self.code),
            **(
                {"topic_authorized_operations": self.operations}
                if request.name == "MetadataRequest"
                else {}
            ),
        )
        return messages.build(cls, topics=(made,))

    def _error(self, cls: type, code: int) -> Any:
        return get_type_hints(cls)["error_code"](code)


def bits(*operations: Operation) -> int:
    return sum(1 << operation for operation in operations)


async def test_what_an_authorizer_allows() -> None:
    asked = Asked(0, bits(Operation.READ, Operation.DESCRIBE))
    rights = await rights_of(asked)
    assert rights == Rights(True, frozenset({Operation.READ, Operation.DESCRIBE}), True)
    metadata, end = asked.requests
    assert metadata.include_topic_authorized_operations
    assert not metadata.allow_auto_topic_creation
    # The producer does not exist, so nothing can end by this request.
    assert (end.transactional_id, end.producer_id) == ("__kafka_gateway_catalog", -1)


async def test_one_that_may_not_even_see_it() -> None:
    assert await rights_of(Asked(29, ended=53)) == Rights(True, frozenset(), False)


@pytest.mark.parametrize(("ended", "may"), [(49, True), (15, True), (16, True), (53, False)])
async def test_before_there_is_a_catalog_the_id_is_asked_for(ended: int, may: bool) -> None:
    """INVALID_PRODUCER_ID_MAPPING, no coordinator yet, another coordinator, and no right."""
    asked = Asked(3, ended=ended)
    assert await rights_of(asked) == Rights(False, None, may)
    # A request for a coordinator would create the topic of transactions.
    assert [type(one).__name__ for one in asked.requests] == ["MetadataRequest", "EndTxnRequest"]


async def test_brokers_that_do_not_say() -> None:
    rights = await rights_of(Asked())
    assert rights.operations is None
    (problem,) = exposure(rights, CLIENTS_KEY, one_identity=True)
    assert problem.text.startswith("the brokers do not say what clients' connections may do")
    assert list(lacking(rights, OWN_KEY)) == []


@pytest.mark.parametrize(
    ("rights", "told"),
    [
        (Rights(True, frozenset({Operation.DESCRIBE}), False), ""),
        (Rights(False, None, False), ""),
        (Rights(True, frozenset({Operation.WRITE, Operation.DELETE}), True), "may WRITE, DELETE _"),
        (Rights(True, frozenset(), True), "may use the transactional id of the catalog"),
    ],
)
def test_what_clients_should_not_be_able_to_do(rights: Rights, told: str) -> None:
    found = [problem.text for problem in exposure(rights, CLIENTS_KEY, one_identity=False)]
    assert len(found) == bool(told)
    assert all(told in text and "deny this identity the topics" in text for text in found)


def test_the_id_is_needed_before_there_is_a_catalog() -> None:
    (problem,) = lacking(Rights(False, None, False), OWN_KEY)
    assert "__kafka_gateway_catalog" in problem.text


def test_what_the_catalog_s_own_identity_needs() -> None:
    everything = frozenset({Operation.READ, Operation.WRITE, Operation.DESCRIBE_CONFIGS})
    assert list(lacking(Rights(True, everything, True), OWN_KEY)) == []
    texts = [one.text for one in lacking(Rights(True, frozenset({Operation.READ}), False), OWN_KEY)]
    assert texts[0].startswith("the catalog's identity may not WRITE, DESCRIBE_CONFIGS __kafka")
    assert texts[1].startswith("the catalog's identity may not use the transactional id")


# TOPIC_AUTHORIZATION_FAILED, INVALID_REPLICATION_FACTOR; a broker's own error codes.
@pytest.mark.parametrize(
    ("code", "key", "told"),
    [
        pytest.param(0, None, "", id="would be made"),
        pytest.param(36, None, "", id="another gateway has just made it"),
        pytest.param(29, OWN_KEY, "may not CREATE __kafka_gateway_catalog", id="no CREATE"),
        pytest.param(38, ("catalog",), "INVALID_REPLICATION_FACTOR", id="too few brokers"),
    ],
)
async def test_a_catalog_that_could_not_be_made(
    code: int, key: tuple[str, ...] | None, told: str
) -> None:
    asked = Asked(code)
    found = [one async for one in not_creatable(asked, 3, OWN_KEY)]
    (request,) = asked.requests
    (topic,) = request.topics
    assert request.validate_only
    assert (topic.name, topic.replication_factor) == ("__kafka_gateway_catalog", 3)
    assert [one.key for one in found] == ([] if key is None else [key])
    assert all(told in one.text for one in found)
