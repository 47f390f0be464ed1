"""Access: denials, idle topics, and which principals produce to and consume from which topic.

ACLs that can be removed are in :mod:`spark.acls`.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from spark import tiers, tree
from spark.acls import Tool, read_acls, unused_acls
from spark.arguments import Command, Tables, run

ANONYMOUS: Final = "User:ANONYMOUS"
"""The principal of every client that does not authenticate."""

OTHER: Final = "(other)"
"""The name under which topics of a window, and ends of the graph, beyond a limit are summed up."""

MOST: Final = 20
"""How many producers, and how many consumers, of a topic the graph shows separately."""

WRITES: Final = ("Produce",)
READS: Final = ("Fetch", "ShareFetch")

NO_SUCH_TOPIC: Final = ("UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID", "INVALID_TOPIC_EXCEPTION")
"""Error codes, by Kafka's names, for a topic that does not exist."""

NOT_READ: Final = "nobody read it"
NOT_WRITTEN: Final = "nobody wrote to it"
NEITHER: Final = "nobody wrote to it or read it"


def denials(records: DataFrame) -> DataFrame:
    """Denials by rule, namespace, principal and API.

    Columns: rule, namespace, principal, api, count, example (the first denied item, as the client
    spelled it, and the reason), because (the ACL that denied the item, or the missing ACL; null if
    no ACL was involved), cluster (null without a tree).
    """
    first = F.min(F.struct("time_ms", "resource", "message", "because"))
    shown = F.concat_ws(": ", "first.resource", "first.message")
    return (
        tree.absolute(records.where(F.col("kind") == "denial"))
        .groupBy(
            "rule",
            "cluster",
            tiers.label(F.col("namespace")).alias("namespace"),
            "principal",
            "api",
        )
        .agg(F.count(F.lit(1)).alias("count"), first.alias("first"))
        .select(
            "rule",
            "namespace",
            "principal",
            "api",
            "count",
            shown.alias("example"),
            "first.because",
            "cluster",
        )
    )


def idle_topics(records: DataFrame, known: DataFrame | None = None) -> DataFrame:
    """Topics without producers or without consumers.

    Columns: topic (the logical name, in a tree from the root), reason, cluster (null without a
    tree). A topic counts as written if records were produced to it, and as read if a fetch
    succeeded, with or without records. The topics are the topics that a request named, unless every
    response said that the topic does not exist, and the topics of ``known`` (a single column,
    topic).
    """
    worked = _moved() | (F.col("requests") > _errors())
    exists = _moved() | (F.col("requests") > _errors(NO_SUCH_TOPIC))
    topics = (
        _of_topics(records)
        # Spark would sort all records for the largest text of a topic; it hashes them for booleans.
        .groupBy(F.col("logical_topic").alias("topic"), "cluster")
        .agg(
            F.max(_is(WRITES) & (F.col("records") > 0)).alias("written"),
            F.max(_is(READS) & worked).alias("was_read"),
            F.max(exists).alias("exists"),
        )
        .groupBy("topic")
        .agg(*(F.max(name).alias(name) for name in ("written", "was_read", "exists", "cluster")))
        .where("exists")
        .drop("exists")
    )
    if known is not None:
        topics = known.select("topic").distinct().join(topics, "topic", "full")
    written = F.coalesce(F.col("written"), F.lit(False))
    was_read = F.coalesce(F.col("was_read"), F.lit(False))
    reason = (
        F.when(~written & ~was_read, NEITHER).when(~written, NOT_WRITTEN).when(~was_read, NOT_READ)
    )
    found = topics.select("topic", reason.alias("reason"), "cluster")
    return found.where(F.col("reason").isNotNull())


def flows_graph(records: DataFrame) -> DataFrame:
    """Flows from producers to consumers, by topic.

    Columns: producer, topic (the logical name), consumer, bytes. Producers and consumers are
    principals, or client ids of clients that do not authenticate. ``bytes`` is the consumer's
    volume of the topic times the producer's share of the topic, rounded. Requests that moved no
    records, such as rejected requests, are left out. The :data:`MOST` largest producers and
    consumers of each topic have rows of their own, and the others are summed up as ``(other)``: the
    pairs of all of them could outnumber the records.
    """
    written = _by_who(records, WRITES, "bytes_in", "producer", "written")
    read = _by_who(records, READS, "bytes_out", "consumer", "got")
    everything = F.sum("written").over(Window.partitionBy("topic"))
    shares = written.withColumn("share", F.col("written") / everything)
    return shares.join(read, "topic").select(
        "producer",
        "topic",
        "consumer",
        F.round(F.col("got") * F.col("share")).cast("long").alias("bytes"),
    )


def _by_who(
    records: DataFrame, apis: tuple[str, ...], column: str, who: str, total: str
) -> DataFrame:
    """The bytes of each topic by principal; requests that moved no records are left out."""
    largest = Window.partitionBy("topic").orderBy(F.desc(total), who)
    is_told = F.row_number().over(largest) <= MOST
    return (
        _of_topics(records)
        .where(_is(apis) & _moved())
        .groupBy(F.col("logical_topic").alias("topic"), _who().alias(who))
        .agg(F.sum(column).alias(total))
        .where(F.col(total) > 0)
        .withColumn(who, F.when(is_told, F.col(who)).otherwise(OTHER))
        .groupBy("topic", who)
        .agg(F.sum(total).alias(total))
    )


def _of_topics(records: DataFrame) -> DataFrame:
    topic = F.col("logical_topic")
    found = records.where((F.col("kind") == "flow") & topic.isNotNull() & (topic != OTHER))
    return tree.absolute(found)


def _is(apis: tuple[str, ...]) -> Column:
    return F.col("api").isin(*apis)


def _moved() -> Column:
    """Whether a flow moved records, to the topic or from it."""
    return F.greatest("records", "batches", "records_out", "batches_out") > 0


def _errors(names: tuple[str, ...] | None = None) -> Column:
    """The number of errors in a flow's responses: of every error, or of the errors in ``names``."""
    none = F.lit(0).cast("long")
    if names is None:
        counts = F.map_values(F.col("errors"))
        return F.coalesce(F.aggregate(counts, none, lambda sums, count: sums + count), none)
    found = (F.try_element_at("errors", F.lit(name)) for name in names)
    return sum((F.coalesce(one, none) for one in found), none)


def _listed(spark: SparkSession, path: str) -> DataFrame:
    names = spark.read.text(path).select(F.trim("value").alias("topic"))
    return names.where(F.col("topic") != "")


def _who() -> Column:
    anonymous = F.col("principal") == ANONYMOUS
    return F.when(anonymous, F.col("client_id")).otherwise(F.col("principal"))


def tables(records: DataFrame, options: argparse.Namespace) -> Tables:
    """The tables of the job, by name; ``unused_acls`` needs a catalog to compare with."""
    known = None if options.topics is None else _listed(records.sparkSession, options.topics)
    found = {
        "denials": denials(records),
        "idle_topics": idle_topics(records, known),
        "flows_graph": flows_graph(records),
    }
    if options.catalog is not None:
        everyone = options.allow_everyone_if_no_acl_found
        tool = Tool(options.bootstrap_server, options.command_config, everyone)
        cluster = F.col("cluster")
        own = (
            F.lit(True)
            if options.cluster is None
            else cluster.isNull() | (cluster == options.cluster)
        )
        found["unused_acls"] = unused_acls(records.where(own), read_acls(options.catalog), tool)
    return found


def options(parser: argparse.ArgumentParser) -> None:
    """Add the job's own arguments."""
    parser.add_argument(
        "--catalog",
        metavar="FILE",
        type=Path,
        help="an export of the catalog (kafka-gateway catalog export): lists its unused ACLs",
    )
    parser.add_argument(
        "--cluster",
        metavar="NAME",
        help="the cluster that --catalog is of, by its name in the gateway's configuration; needed "
        "where there are several",
    )
    parser.add_argument(
        "--topics", metavar="FILE", help="logical names of topics to check, one a line"
    )
    parser.add_argument(
        "--bootstrap-server",
        metavar="HOST:PORT",
        default=Tool().bootstrap_server,
        help="the gateway, for commands that remove ACLs (default: %(default)s)",
    )
    parser.add_argument(
        "--command-config", metavar="FILE", help="the tool's properties file, for these commands"
    )
    parser.add_argument(
        "--allow-everyone-if-no-acl-found",
        action="store_true",
        help="the gateway has this setting: removing the last ACL of anything opens it",
    )


COLUMNS: Final = (
    "gateway_id",
    "worker_id",
    *tree.COLUMNS,
    "window_ms",
    "api",
    "namespace",
    "logical_topic",
    "principal",
    "client_id",
    "requests",
    "errors",
    "bytes_in",
    "bytes_out",
    "records",
    "batches",
    "records_out",
    "batches_out",
    "rule",
    "resource",
    "message",
    "because",
    "acl",
)
"""The columns that the job reads."""

COMMAND: Final = Command(
    "access", "who is denied, what is idle, who produces to whom", tables, options, COLUMNS
)

main = partial(run, COMMAND)


if __name__ == "__main__":
    sys.exit(main())
