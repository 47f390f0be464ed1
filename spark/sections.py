"""The sections of the report, in order, and the columns of their tables.

Plain data: the page (``page.py``) writes it into its JSON block, and the page's scripts draw from
it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal[
    "text", "namespace", "time", "bytes", "count", "us", "number", "share", "flag", "command"
]
"""The ways to show a value. ``bytes`` and ``us`` (microseconds) get a unit that fits, ``namespace``
has a word for the default namespace, ``flag`` is yes or no, ``command`` can be copied."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its key in the rows, its heading, how its values are shown."""

    key: str
    label: str
    kind: Kind = "text"


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart over a section's rows: the name of its maker in the scripts, and its caption."""

    maker: str
    caption: str


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page.

    ``order`` says which rows come first, for the sentence about the rows that are left out;
    ``empty`` is shown if there are no rows, ``absent`` if the table was not requested. ``kip``
    stands beside the title.
    """

    table: str
    title: str
    lead: str
    empty: str
    order: str
    columns: tuple[Column, ...]
    charts: tuple[Chart, ...] = ()
    kip: str = ""
    absent: str = ""


_VOLUME: Final = (
    Column("bytes_in", "Bytes in", "bytes"),
    Column("bytes_out", "Bytes out", "bytes"),
    Column("records_in", "Records in", "count"),
    Column("records_out", "Records out", "count"),
    Column("requests", "Requests", "count"),
)
_NAMESPACE: Final = Column("namespace", "Namespace", "namespace")

TOTALS: Final[tuple[Column, ...]] = (
    *_VOLUME,
    Column("namespaces", "Namespaces", "count"),
    Column("topics", "Topics", "count"),
    Column("clients", "Client ids", "count"),
    Column("denials", "Denials", "count"),
)
"""The figures that the page begins with."""

SECTIONS: Final[tuple[Section, ...]] = (
    Section(
        table="namespaces",
        title="What each namespace uses",
        lead="Every tier of the tree with all that is below it, so a parent holds its children. "
        "In is from clients, out is to them.",
        empty="No client named a topic in this time.",
        order="the most bytes first",
        columns=(Column("tier", "Namespace", "namespace"), *_VOLUME),
        charts=(Chart("tree", "Bytes in and out by namespace; a box inside a box is a tier"),),
    ),
    Section(
        table="over_time",
        title="Over time",
        lead="The outermost tiers that moved the most bytes, all others summed up.",
        empty="No client named a topic in this time.",
        order="the earliest first",
        columns=(
            Column("period", "From (UTC)", "time"),
            Column("tier", "Namespace", "namespace"),
            *_VOLUME,
        ),
        charts=(Chart("time", "Bytes in and out by period and namespace"),),
    ),
    Section(
        table="clients",
        title="Who uses it",
        lead="Principals and their client ids, over all namespaces.",
        empty="No client sent a request in this time.",
        order="the most bytes first",
        columns=(Column("principal", "Principal"), Column("client_id", "Client id"), *_VOLUME),
        charts=(Chart("clients", "Bytes by client, the largest"),),
    ),
    Section(
        table="latency",
        title="Latency",
        lead="How long requests took, in the gateway and at the broker apart. Percentiles are read "
        "off histograms: each is right within 19 %, and within a factor of two where the log is an "
        "older gateway's. A Fetch waits at the broker for new records, as its client asks it to.",
        empty="No request was timed in this time.",
        order="the most requests first",
        columns=(
            _NAMESPACE,
            Column("api", "API"),
            Column("side", "Where"),
            Column("p50", "p50", "us"),
            Column("p95", "p95", "us"),
            Column("p99", "p99", "us"),
            Column("p999", "p99.9", "us"),
            Column("requests", "Requests", "count"),
        ),
        charts=(
            Chart("gateway", "In the gateway: the requests asked most"),
            Chart("broker", "At the broker: the same requests, the same scale"),
        ),
    ),
    Section(
        table="denials",
        title="Who is denied",
        lead="What a rule refused, counted by the rule and by who asked.",
        empty="Nothing was denied.",
        order="the most denials first",
        columns=(
            Column("principal", "Principal"),
            Column("rule", "Rule"),
            _NAMESPACE,
            Column("api", "API"),
            Column("count", "Denials", "count"),
            Column("example", "For example"),
        ),
        charts=(Chart("denials", "Denials by principal and rule"),),
    ),
    Section(
        table="unused_acls",
        title="ACLs that nobody used",
        lead="ACLs that allowed nothing in this time, and the commands that remove them. Be sure "
        "that the time is long enough: a job that runs once a month needs its ACL too.",
        empty="Every ACL of the catalog was used in this time.",
        absent="The report was given no export of the catalog to compare with, so it cannot tell: "
        "make one with kafka-gateway catalog export, and name it with --catalog.",
        order="by principal",
        columns=(
            Column("principal", "Principal"),
            Column("operation", "Operation"),
            Column("type", "Of"),
            Column("name", "Name"),
            Column("command", "Command that removes it", "command"),
            Column("caution", "Caution"),
        ),
    ),
    Section(
        table="idle_topics",
        title="Idle topics",
        lead="Topics that nobody wrote or nobody read in this time.",
        empty="Every topic that was seen is written and read.",
        order="by name",
        columns=(Column("topic", "Topic"), Column("reason", "Why it is here")),
    ),
    Section(
        table="flows_graph",
        title="Who produces to whom",
        lead="Bytes are what the consumer got of the topic, by the producer's share of what was "
        "written to it. Who does not log in stands here by client id.",
        empty="No topic was both written and read in this time.",
        order="the most bytes first",
        columns=(
            Column("producer", "Producer"),
            Column("topic", "Topic"),
            Column("consumer", "Consumer"),
            Column("bytes", "Bytes", "bytes"),
        ),
        charts=(Chart("flows", "Producers, topics, consumers: the largest flows"),),
    ),
    Section(
        table="guarantees",
        title="Producers that stronger guarantees would break",
        kip="KIP-679",
        lead="Producers by what they ask for. Those that ask for less than acks=all, or are not "
        "idempotent, are refused once the gateway requires it. acks=all promises no more than the "
        "topic's min.insync.replicas: with 1, its default, a record is acknowledged when one "
        "broker has it. What kafka-topics --describe prints, given with --described-topics, tells "
        "here whose acks=all went to such topics.",
        empty="Nobody produced in this time.",
        order="those that would break first",
        columns=(
            Column("client_id", "Client id"),
            Column("principal", "Principal"),
            _NAMESPACE,
            Column("software", "Software"),
            Column("breaks_acks", "Breaks: acks", "flag"),
            Column("breaks_idempotence", "Breaks: idempotence", "flag"),
            Column("acks_0", "acks=0", "count"),
            Column("acks_1", "acks=1", "count"),
            Column("acks_all", "acks=all", "count"),
            Column("hollow_acks_all", "acks=all on one replica", "count"),
            Column("not_idempotent", "Not idempotent", "count"),
            Column("records_per_batch", "Records a batch", "number"),
        ),
        charts=(Chart("guarantees", "Produce requests by acks; ✗ would break"),),
    ),
    Section(
        table="policies",
        title="Policy violations and near misses",
        lead="What policies refused, warned of, or allowed within 20 % of a limit.",
        empty="No policy was violated, and nothing came near a limit.",
        order="the most events first",
        columns=(
            _NAMESPACE,
            Column("topic", "Topic"),
            Column("rule", "Rule"),
            Column("outcome", "Outcome"),
            Column("count", "Events", "count"),
            Column("value", "Value", "count"),
            Column("limit", "Limit", "count"),
            Column("principal", "Last by"),
            Column("source", "Set in"),
        ),
        charts=(Chart("policies", "Events by rule and outcome"),),
    ),
    Section(
        table="replication",
        title="Topics that MirrorMaker begins or ceases to copy",
        kip="KIP-1074",
        lead="Before KIP-1074 MirrorMaker leaves out topics whose names end in .internal or "
        "-internal; after it, only its own. What is replicated newly costs bandwidth and space.",
        empty="No topic was seen whose replication could change.",
        order="the most bytes first",
        columns=(
            Column("topic", "Topic"),
            Column("flat_topic", "On the brokers"),
            Column("replicated_before", "Replicated before", "flag"),
            Column("replicated_after", "Replicated with KIP-1074", "flag"),
            Column("bytes", "Bytes written", "bytes"),
            Column("records", "Records", "count"),
        ),
        charts=(Chart("replication", "Bytes of topics by what becomes of them"),),
    ),
)
"""The page, from top to bottom. A table's name is also the section's id in the page."""
