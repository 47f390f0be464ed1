"""An operator's own policy classes (KIP-108) in a real gateway: applied, failing, reloaded,
closed."""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from confluent_kafka import KafkaException
from confluent_kafka.cimpl import NewTopic

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayError, GatewayProcess
from devkit.waiting import wait_until
from gateway.error_codes import POLICY_VIOLATION
from tests.live.support import clients, processes
from tests.live.support.namespaces import flat

Names = Callable[[str], str]

LISTENERS: Final = (Listener("colon", "all"),)
WORKERS: Final = 2
TIMEOUT_MS: Final = 10_000
"""Time limit of a class: on a busy machine, even an immediate response may take a second."""
ENOUGH: Final = 40
"""Topics that clients create while policies are reloaded."""

MODULE: Final = "naming_policies"
CLASS: Final = f"{MODULE}:Naming"
KEY: Final = "create.topic.policy.class.name"
SET_WHERE: Final = f"(policies: {KEY}, set by namespace 'team-a')"

SOURCE: Final = '''
import os
import sys
import time
from pathlib import Path

from gateway.policies.interface import CreateTopicPolicy, PolicyViolation

HERE = Path(__file__).parent


class Naming(CreateTopicPolicy):
    """Names may not begin as the file `forbidden` says, which is read once."""

    def _note(self, what):
        with (HERE / "journal").open("a") as file:
            file.write(f"{os.getpid()} {what}\\n")

    def configure(self, configs):
        self.forbidden = (HERE / "forbidden").read_text()
        if self.forbidden == "raise":
            raise ValueError("there is no such rule")
        self._note("configure " + configs["num.partitions"])

    def validate(self, request_metadata):
        name = request_metadata.topic.rpartition(":")[2]
        if name.startswith(self.forbidden):
            who = request_metadata.principal
            raise PolicyViolation(f"{name} begins with {self.forbidden}, {who}")
        if name.startswith("broken"):
            raise KeyError("a secret")
        if name.startswith("exit"):
            sys.exit(7)
        if name.startswith("stuck"):
            time.sleep(3_600)

    def close(self):
        self._note("close")
'''


class PolicedGateway:
    """A gateway that applies the policy class to the namespace team-a."""

    def __init__(self, kafka: KafkaCluster, directory: Path) -> None:
        self.directory = directory
        (directory / f"{MODULE}.py").write_text(SOURCE)
        self.forbid("bad")
        block = {KEY: CLASS, "create.topic.policy.timeout.ms": TIMEOUT_MS}
        self.gateway = GatewayProcess(
            kafka.bootstrap_servers,
            LISTENERS,
            ["team-a", "team-b"],
            workers=WORKERS,
            overrides={"policies": {"namespaces": {"team-a": block}}},
        )

    @property
    def servers(self) -> str:
        return self.gateway.bootstrap_servers("colon")

    def forbid(self, prefix: str) -> None:
        """Set the prefix that the class reads when it is next configured."""
        (self.directory / "forbidden").write_text(prefix)

    def journal(self) -> list[str]:
        """The lines that the class's instances wrote, without process ids."""
        path = self.directory / "journal"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line.partition(" ")[2] for line in lines]

    def metric(self, name: str, **labels: str) -> float:
        """The sum of a counter's samples that have these labels."""
        found = 0.0
        for line in self.gateway.metrics().splitlines():
            match = re.fullmatch(rf"kafka_gateway_{name}_total{{(.*)}} (\S+)", line)
            if match and all(f'{key}="{value}"' in match[1] for key, value in labels.items()):
                found += float(match[2])
        return found

    def reload(self, *, done: bool = True, **policies: Any) -> None:
        """Make the gateway read its file again, with other policies if any are given."""
        outcome = "done" if done else "failed"
        before = self.metric("policy_reloads", outcome=outcome)
        path = self.gateway.config_path
        values = yaml.safe_load(path.read_text())
        if policies:
            values["policies"] = policies
            path.write_text(yaml.safe_dump(values))
        os.kill(self.gateway.process.command_pid, signal.SIGHUP)
        wait_until(
            lambda: self.metric("policy_reloads", outcome=outcome) > before,
            f"a reload that is {outcome}",
            clients.SECONDS,
        )

    def create(self, *topics: str, partitions: int = 1) -> Mapping[str, tuple[int, str]]:
        """The code and the message of each topic's error; code 0 if it was created."""
        wanted = [NewTopic(topic, partitions, 1) for topic in topics]
        answers = {}
        for topic, future in clients.admin(self.servers).create_topics(wanted).items():
            error = future.exception(clients.SECONDS)
            assert error is None or isinstance(error, KafkaException)
            answers[topic] = (
                (0, "") if error is None else (error.args[0].code(), error.args[0].str())
            )
        return answers


@pytest.fixture
def policed(
    kafka: KafkaCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[PolicedGateway]:
    """A gateway with the policy class, whose stop must be clean."""
    importable(tmp_path, monkeypatch)
    made = PolicedGateway(kafka, tmp_path)
    with made.gateway:
        yield made


def importable(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the gateway import the modules in this directory."""
    paths = [str(directory), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))


def test_what_a_class_says_and_what_it_breaks(policed: PolicedGateway, unique: Names) -> None:
    stems = ("good", "bad", "broken", "exit", "stuck")
    topics = {stem: f"team-a:{unique(stem)}" for stem in stems}
    other = f"team-b:{unique('bad')}"
    answers = policed.create(*topics.values(), other)
    bad = topics["bad"].partition(":")[2]
    failed = (POLICY_VIOLATION, f"The policy of this topic failed {SET_WHERE}.")
    late = f"The policy of this topic did not answer within {TIMEOUT_MS} ms {SET_WHERE}."
    assert answers == {
        topics["good"]: (0, ""),
        topics["bad"]: (POLICY_VIOLATION, f"{bad} begins with bad, User:ANONYMOUS"),
        topics["broken"]: failed,
        topics["exit"]: failed,
        topics["stuck"]: (POLICY_VIOLATION, late),
        other: (0, ""),
    }

    def failures(reason: str) -> float:
        return policed.metric("policy_failures", class_name=CLASS, reason=reason)

    wait_until(lambda: failures("timeout") == 1, "the counts", clients.SECONDS)
    wait_until(lambda: failures("raised") == 2, "the counts", clients.SECONDS)
    labels = {"namespace": "team-a", "rule": "create.topic.policy", "mode": "enforce"}
    violations = partial(policed.metric, "policy_violations", **labels)
    wait_until(lambda: violations() == 4, "the counts", clients.SECONDS)
    log = policed.gateway.log()
    who = f"policy {CLASS}, set by namespace 'team-a',"
    assert f"{who} failed on {topics['broken']}: KeyError: 'a secret'" in log
    assert f"{who} failed on {topics['exit']}: SystemExit: 7" in log
    assert f"{who} does not answer within {TIMEOUT_MS} ms" in log
    assert policed.metric("worker_restarts") == 0
    # The worker whose policy is stuck rejects at once, until a reload creates a new instance.
    policed.reload()
    wait_until(
        lambda: [*policed.create(f"team-a:{unique('good')}").values()] == [(0, "")],
        "the policy made anew",
        clients.SECONDS,
    )


def test_a_reload(policed: PolicedGateway, unique: Names) -> None:
    assert policed.journal() == ["configure 1"] * WORKERS
    policed.forbid("worse")
    block = {KEY: CLASS}
    policed.reload(everywhere={"partitions": {"max": 2}}, namespaces={"team-a": block})
    wait_until(lambda: policed.journal().count("close") == WORKERS, "the old ones", clients.SECONDS)
    bad, worse, wide = (f"team-a:{unique(stem)}" for stem in ("bad", "worse", "wide"))
    assert [*policed.create(bad).values()] == [(0, "")]
    assert [code for code, _ in policed.create(worse).values()] == [POLICY_VIOLATION]
    assert [code for code, _ in policed.create(wide, partitions=3).values()] == [POLICY_VIOLATION]

    path = policed.gateway.config_path
    policed.reload(done=False, everywhere={"partitions": {"max": "many"}})
    line = path.read_text().splitlines().index("      max: many") + 1
    told = f"policies stay as they were: {path}:{line}: policies.everywhere.partitions.max: must be"
    assert told in policed.gateway.log()

    policed.forbid("raise")
    policed.reload(done=False, namespaces={"team-a": block})
    key = f"policies.namespaces.team-a.{KEY}"
    told = f": {key}: '{CLASS}' cannot be configured: ValueError: there is no such rule"
    log = policed.gateway.log()
    for worker in range(WORKERS):
        assert f"policies stay as they were: worker {worker}{told}" in log
    assert [code for code, _ in policed.create(worse).values()] == [POLICY_VIOLATION]


def test_no_topic_is_lost_or_goes_unjudged_while_policies_are_reloaded(
    policed: PolicedGateway, kafka: KafkaCluster, unique: Names
) -> None:
    stop = threading.Event()
    answers: dict[str, tuple[int, str]] = {}

    def keep_creating() -> None:
        while not stop.is_set():
            answers.update(policed.create(f"team-a:{unique('bad')}", f"team-a:{unique('good')}"))

    creating = [threading.Thread(target=keep_creating) for _ in range(3)]
    for thread in creating:
        thread.start()
    try:
        policed.reload()
        while len(answers) < ENOUGH:
            policed.reload()
    finally:
        stop.set()
        for thread in creating:
            thread.join(clients.SECONDS)
    bad = {topic for topic in answers if topic.partition(":")[2].startswith("bad")}
    for topic, (code, message) in answers.items():
        assert code == (POLICY_VIOLATION if topic in bad else 0), (topic, message)
        assert topic not in bad or " begins with bad, " in message
    clients.await_stored(kafka, *(flat(topic) for topic in answers if topic not in bad))
    assert kafka.topics().isdisjoint(flat(topic) for topic in bad)
    assert "Traceback" not in policed.gateway.log()


@pytest.mark.long("kills")
def test_a_worker_that_dies_comes_back_with_the_newest_policies(
    policed: PolicedGateway, kafka: KafkaCluster, unique: Names
) -> None:
    policed.reload(namespaces={"team-a": {"name_pattern": "good.*"}})
    (policed.gateway.config_path).write_text("not: [valid")
    pids = re.findall(r"worker \d is process (\d+)", policed.gateway.log())
    for pid in pids:
        os.kill(int(pid), signal.SIGKILL)
    wait_until(
        lambda: (
            len(re.findall(r"worker \d is process \d+", policed.gateway.log())) == 2 * WORKERS
            and policed.gateway.get("/readyz")[0] == 200
        ),
        "new workers",
        clients.SECONDS,
    )
    processes.forget_killed(kafka)
    answers = policed.create(f"team-a:{unique('good')}", f"team-a:{unique('other')}")
    assert [code for code, _ in answers.values()] == [0, POLICY_VIOLATION]


@pytest.mark.long("kills")
def test_the_end_closes_policies_and_does_not_wait_for_stuck_ones(
    kafka: KafkaCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unique: Names
) -> None:
    importable(tmp_path, monkeypatch)
    policed = PolicedGateway(kafka, tmp_path)
    with policed.gateway:
        answers = policed.create(f"team-a:{unique('stuck')}")
        assert [code for code, _ in answers.values()] == [POLICY_VIOLATION]
    # The stop was clean, because otherwise the fixture's own end would have failed.
    assert policed.journal() == ["configure 1"] * WORKERS + ["close"] * (WORKERS - 1)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("no_such_module:Naming", "cannot be loaded: ModuleNotFoundError: No module named"),
        (CLASS, "cannot be configured: ValueError: there is no such rule"),
    ],
)
def test_a_class_that_cannot_be_used_ends_the_start(
    kafka: KafkaCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, told: str
) -> None:
    importable(tmp_path, monkeypatch)
    (tmp_path / f"{MODULE}.py").write_text(SOURCE)
    (tmp_path / "forbidden").write_text("raise")
    policies = {"namespaces": {"team-a": {KEY: name}}}
    gateway = GatewayProcess(
        kafka.bootstrap_servers, LISTENERS, ["team-a"], overrides={"policies": policies}
    )
    with pytest.raises(GatewayError) as rejected:
        gateway.start()
    text = str(rejected.value)
    assert "kafka-gateway ended with status 78" in text
    assert f"kafka-gateway: policies.namespaces.team-a.{KEY}: '{name}' {told}" in text
    assert "Traceback" not in text
