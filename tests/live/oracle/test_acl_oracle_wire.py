"""A broker with StandardAuthorizer is the oracle of a gateway with ``authorization:``.

With the same ACLs on both, the same request of the same user from the same host gets the same error
codes. No names are in namespaces here. The broker behind the gateway has no authorizer, so every
denial is the gateway's.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devkit.broker import KafkaCluster
from devkit.broker_security import BrokerSecurity
from gateway.acl_model import AclBinding
from gateway.apis.table import APIS
from tests.live.fuzz.differences import WITH_A_PLUGIN
from tests.live.oracle.acl_sets import acl_sets, entries, patterns
from tests.live.oracle.acl_sides import Side
from tests.live.oracle.case_counts import CASES, SECONDS, oracle_settings
from tests.live.oracle.random_requests import REQUESTS, SentRequest, asked_together
from tests.live.support import authorized, namespaces

pytestmark = pytest.mark.long("searches")

TOGETHER = 40
"""Requests that are sent with an ACL set."""

LOGIN = {"SaslHandshake", "SaslAuthenticate"}
"""APIs of the login, before there is a principal: every connection here has used them."""

QUICK_AND_STILL = {
    # Records are older than Kafka's default retention.
    "log.retention.ms": "-1",
    # A topic that Metadata would auto-create is never created, so the topics stay the same.
    "default.replication.factor": "3",
    # The member of the group stays in it.
    "group.consumer.max.session.timeout.ms": "86400000",
    "group.consumer.session.timeout.ms": "86400000",
}


class Pair(NamedTuple):
    """Kafka's side and ours."""

    kafka: Side
    gateway: Side

    def decide_by(self, acls: Sequence[AclBinding]) -> None:
        """Set these ACLs on both sides, and delete groups that earlier requests left."""
        for side in self:
            side.set_acls(acls)
            side.forget_groups()

    def difference(self, asked: SentRequest) -> str:
        """The difference of the two responses, or an empty string if they are equal."""
        expected, got = self.kafka.answer(*asked), self.gateway.answer(*asked)
        return "" if got == expected else f"gateway: {got}\nbroker:  {expected}"

    def fewest(self, acls: Sequence[AclBinding], asked: SentRequest) -> Sequence[AclBinding]:
        """The fewest of these ACLs with which the responses still differ."""
        for acl in acls:
            fewer = [each for each in acls if each != acl]
            self.decide_by(fewer)
            if self.difference(asked):
                acls = fewer
        return acls


@contextlib.contextmanager
def a_pair(secrets: Path, *, allow_everyone: bool = False) -> Iterator[Pair]:
    """Both sides, each with a broker of its own that it may change."""
    security = BrokerSecurity(
        plain_users=authorized.PASSWORDS,
        authorizer=True,
        super_users=authorized.SUPER_USERS,
        allow_everyone_if_no_acl_found=allow_everyone,
    )
    with contextlib.ExitStack() as stack:
        judge = stack.enter_context(KafkaCluster(overrides=QUICK_AND_STILL, security=security))
        plain = stack.enter_context(KafkaCluster(overrides=QUICK_AND_STILL))
        gateway = stack.enter_context(
            authorized.gateway(
                plain.bootstrap_servers,
                authorized.listener(secrets),
                allow_everyone=allow_everyone,
                **namespaces.namespace_like(plain.bootstrap_servers),
            )
        )
        kafka = Side(stack, judge.servers("SASL_PLAINTEXT"))
        yield Pair(kafka, Side(stack, gateway.bootstrap_servers(authorized.USERS_LISTENER)))


def versions_of(pair: Pair) -> dict[str, list[int]]:
    """The versions of every decided API that both sides serve."""
    return {
        api.name: sorted(pair.kafka.versions(api.name) & pair.gateway.versions(api.name))
        for api in APIS.values()
        if api.name not in LOGIN | WITH_A_PLUGIN
    }


def ask(pair: Pair, versions: dict[str, list[int]], cases: int) -> Counter[tuple[str, int]]:
    """Send random requests, many with each random ACL set; their number by API and version.

    Fails with the first difference.
    """
    seen: Counter[tuple[str, int]] = Counter()
    found: list[str] = []

    @oracle_settings(-(-cases // TOGETHER))
    @given(_acl_sets(), asked_together(versions, TOGETHER))
    def check(acls: tuple[AclBinding, ...], together: tuple[SentRequest, ...]) -> None:
        if found:
            return
        pair.decide_by(acls)
        for asked in together:
            difference = pair.difference(asked)
            if difference:
                found.append(_report(asked, difference, pair.fewest(acls, asked)))
                return
            seen[asked.request.api, asked.request.version] += 1

    check()
    assert not found, found[0]
    assert seen.total() >= cases
    return seen


@pytest.mark.timeout(SECONDS)
def test_it_answers_as_a_broker(tmp_path: Path) -> None:
    """Every version of every decided API.

    If the gateway learns a new version, this test must learn it as well.
    """
    with a_pair(tmp_path) as pair:
        versions = versions_of(pair)
        assert set(versions) == set(REQUESTS)
        assert all(versions.values())
        seen = ask(pair, versions, CASES * 4 // 5)
        for name, version in {(n, v) for n in versions for v in versions[n]} - set(seen):
            seen += ask(pair, {name: [version]}, 1)  # versions that were not drawn
        assert {(name, version) for name in versions for version in versions[name]} == set(seen)


@pytest.mark.timeout(SECONDS)
def test_it_allows_everyone_as_a_broker(tmp_path: Path) -> None:
    """With ``allow.everyone.if.no.acl.found``, both allow resources without ACLs."""
    with a_pair(tmp_path, allow_everyone=True) as pair:
        ask(pair, versions_of(pair), CASES // 5)


def _acl_sets() -> st.SearchStrategy[tuple[AclBinding, ...]]:
    """ACL sets with Kafka's only name of a CLUSTER, because Kafka rejects any other."""
    acls = st.builds(AclBinding, patterns(cluster_by_name=True), entries())
    return acl_sets(acls)


def _report(asked: SentRequest, difference: str, acls: Sequence[AclBinding]) -> str:
    """A readable report of a difference, with the means to repeat it."""
    request = asked.request
    rules = "".join(f"\n  {acl}" for acl in acls)
    return (
        f"{request.api} v{request.version} of {asked.user} at {asked.host}\n{request.values}\n"
        f"{difference}\nACLs:{rules}"
    )
