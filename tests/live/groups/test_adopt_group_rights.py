"""Who may carry a group into a home.

The command reads and commits the group's offsets with the rights of the user who runs it, like any
client.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from devkit.broker import KafkaCluster
from gateway.acl_model import AclBinding, pattern_of
from tests.acls.samples import entry
from tests.live.support import authorized, clients, namespaces
from tests.live.support.fixtures import own_users_gateway

Names = Callable[[str], str]

HOME = "rights-of-groups"
GROUP = "app-of-rights"
RIGHTS = (
    f"TOPIC:LITERAL:{HOME}: ALLOW DESCRIBE_CONFIGS alice",
    f"TOPIC:PREFIXED:{HOME}: ALLOW READ alice",
    f"GROUP:LITERAL:{GROUP} ALLOW READ alice",
    f"GROUP:LITERAL:{HOME}:{GROUP} ALLOW READ alice",
)


gateway = own_users_gateway(namespaces=[HOME], homes={"carol": HOME})


def test_with_the_rights_of_who_runs_it(
    users: str, kafka: KafkaCluster, tmp_path: Path, unique: Names
) -> None:
    topics = [unique("calls"), unique("mails")]
    for topic in topics:
        clients.create(kafka.bootstrap_servers, topic)
        clients.await_stored(kafka, topic)
        clients.produce(kafka.bootstrap_servers, topic, ["one", "two"])
        clients.consume(kafka.bootstrap_servers, topic, 1, GROUP)

    def run(user: str, *words: str) -> namespaces.CommandResult:
        to = ["--bootstrap-server", users]
        login = ["--command-config", str(authorized.command_config(tmp_path, user))]
        return namespaces.attempt(words[0], *to, *login, *words[1:])

    adopt = ("adopt", "--group", GROUP, "--home", HOME)
    for topic in topics:
        said = run("admin", "topics", "--adopt", "--topic", topic, "--to-namespace", HOME)
        assert said.status == 0, said
        warned = f"adopt --bootstrap-server {users} --command-config"
        assert f"group '{GROUP}' has offsets on {topic}" in said.err
        assert warned in said.err

    bindings = []
    for line in RIGHTS:
        pattern, _, rest = line.partition(" ")
        bindings.append(AclBinding(pattern_of(pattern), entry(rest)))
    said = run("alice", *adopt)
    assert (said.status, "TOPIC_AUTHORIZATION_FAILED" in said.err) == (1, True), said
    authorized.add_acls(users, bindings[:2])
    said = run("alice", *adopt)
    assert (said.status, "GROUP_AUTHORIZATION_FAILED" in said.err) == (1, True), said
    authorized.add_acls(users, bindings[2:3])
    said = run("alice", *adopt)
    told = f"group '{HOME}..{GROUP}': FindCoordinatorRequest is answered GROUP_AUTHORIZATION_FAILED"
    assert (said.status, told in said.err) == (1, True), said
    authorized.add_acls(users, bindings[3:])
    said = run("alice", *adopt)
    assert said.status == 0, said
    assert "Carried 2 offsets" in said.out
    assert "warning: offsets on topics that you may not Describe" in said.err
    said = run("admin", *adopt)
    assert (said.status, said.err) == (0, ""), said
    assert "All 2 offsets" in said.out

    # A user who has a home is told to use another address or login, because the home changes names.
    said = run("carol", *adopt)
    assert said.status == 1
    assert "a home is in force at this address" in said.err
    authorized.add_acls(
        users,
        [
            AclBinding(pattern_of(f"{kind}:PREFIXED:{HOME}:"), entry("ALLOW READ carol"))
            for kind in ("TOPIC", "GROUP")
        ],
    )
    for topic in topics:
        read = clients.consume(
            users, topic, 1, GROUP, auto_offset_reset="latest", **authorized.login("carol")
        )
        assert read == ["two"]
    namespaces.delete(kafka.bootstrap_servers, *topics)
