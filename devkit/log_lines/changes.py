"""Log lines of changes of names, and background tasks."""

from __future__ import annotations

from typing import Final

from devkit.log_lines.log_line import LogLine

LINES: Final = (
    LogLine(
        "warning",
        "brokers go on telling former configs of %d topics: %s",
        "a broker is more than 5 s behind its controller, or does not know a new topic yet: look "
        "at its `last-applied-record-lag-ms`. What a namespace has changed is applied again until "
        "all brokers tell it; a config that was deleted from a topic stays the topic's own, so "
        "delete it again",
    ),
    LogLine(
        "warning",
        "topic '%s' could not be auto-created: %s",
        "a client relies on "
        "[auto-creation](names.md#topics-that-are-created-by-being-asked-for), and the topic "
        "is refused, as the line says; at most one line a second",
    ),
    LogLine(
        "warning",
        "offsets of topics in other volumes cannot be kept: topic %s could not be made or "
        "grown: %s",
        "a group reads a topic of another volume, and the shadow topic for its offsets is "
        "refused at the group's own cluster, as the line says: the gateway's principal needs "
        "CREATE and ALTER on topics there; at most one line in 5 s",
    ),
    LogLine(
        "warning",
        "groups are assigned no partition of topic %s, and keep no offset of it: it has %d "
        "partitions, and a topic behind another gateway may have %d",
        "a member names a topic of a volume that another gateway has, whose shadow would have "
        "too many partitions, because only that gateway says how many there are: let such "
        "consumers connect to a listener of the topic's own volume; at most one line in 10 "
        "minutes for each topic",
    ),
    LogLine(
        "info",
        "removed shadow topic %s: its topic is gone",
        "the topic of another volume whose offsets groups kept there does not exist any more",
    ),
    LogLine(
        "warning",
        "the brokers' auto.create.topics.enable could not be read: %s",
        "no broker answers; it is asked again",
    ),
    LogLine(
        "warning",
        "topics are auto-created only in namespaces that have '%s' set: the brokers do not "
        "describe their '%s'; allow the gateway DescribeConfigs on the cluster",
        "do so, or set it, where clients rely on "
        "[auto-creation](names.md#topics-that-are-created-by-being-asked-for)",
    ),
    LogLine(
        "warning",
        "group %r has members, and namespace %r, which is deleted, waits until they have left",
        "end what still consumes in that group, at the brokers directly if need be: members "
        "that come through a gateway are denied, and their sessions end",
    ),
    LogLine(
        "warning",
        "group %r of namespace %r, which is deleted, stays: %s",
        "let the gateway's user [delete groups](brokers.md#what-the-gateways-user-may-do), "
        "and delete this one by hand: whoever makes the namespace anew sees it",
    ),
    LogLine(
        "error",
        "looking for background tasks failed",
        "a defect: keep the lines",
    ),
    LogLine(
        "error",
        "%s %r failed",
        "a defect in a background task: keep the lines; it is tried again",
    ),
    LogLine(
        "debug, warning",
        "%s %r waits: %s",
        "see to the cluster: a background task (deleting a namespace, applying configs) goes "
        "on when it answers",
    ),
    LogLine(
        "warning",
        "topic %r stays: error %d, %s",
        "the broker refuses to delete a topic of a namespace that is being deleted, or one that"
        " the gateway made to delete it; see its reason",
    ),
    LogLine(
        "warning",
        "topic %r does not take the configs of its namespace (error %d): %s",
        "change the namespace's configs, or the topic's",
    ),
    LogLine(
        "warning",
        "inherited configs are not applied yet: %s",
        "nothing: a background task does it",
    ),
    LogLine(
        "warning",
        "%s is held up by %s",
        "see to the clients, workers or gateways that it names: a move or a deletion [waits "
        "for what they have under way](namespaces.md#what-a-move-waits-for), and is given up "
        "after 10 s",
    ),
    LogLine(
        "warning",
        "names stay frozen for a while: %s",
        "nothing: a background task ends it as soon as the catalog can be written",
    ),
    LogLine(
        "warning",
        "names that were frozen for a change are free again: its maker is gone",
        "nothing: the change was not made",
    ),
    LogLine(
        "warning",
        "topic %r is not moved: %r was made meanwhile",
        "nothing: the client was told",
    ),
    LogLine(
        "warning",
        "link '%s' is not made: a topic was made meanwhile",
        "nothing: the client was told",
    ),
    LogLine(
        "warning",
        "topic %r is not moved: it was changed meanwhile",
        "nothing: policies do not allow where it went what it has become; the client was told",
    ),
    LogLine(
        "warning",
        "topic %r was made and could not be deleted again: error %d",
        "it was made in a namespace that was just deleted: delete it, or adopt it",
    ),
    LogLine(
        "warning",
        "namespace %r is deleted by a listing that may be late, as topic %r cannot be made and"
        " deleted again: error %d, %s",
        "allow the gateway's principal to create and delete that topic, with one replica or with"
        " the cluster's default (`create.topic.policy.class.name`, `delete.topic.enable` at the"
        " brokers); a topic that was created just before the deletion may be left behind as one of"
        " the default namespace",
    ),
    LogLine(
        "warning",
        "topics %s were made and could not be deleted again: %s",
        "the same, for topics with these ids",
    ),
    LogLine(
        "warning",
        "%r grants IDEMPOTENT_WRITE, which is deprecated (KIP-679: WRITE on a topic is "
        "enough), to %s%s",
        "tell whoever made the ACL; it works all the same",
    ),
    LogLine(
        "warning",
        "ACLs of deleted namespaces stay in the catalog: %s",
        "remove those that a namespace of the name should not have when it is made again "
        "(`kafka-acls --list --topic …`)",
    ),
    LogLine(
        "warning",
        "entries of deleted topics stay in the catalog: %s",
        "nothing: making a topic of the name replaces its entry",
    ),
    LogLine(
        "warning",
        "entries of topics that were not made stay for a while: %s",
        "nothing: a background task removes them",
    ),
    LogLine(
        "warning",
        "partitions that were not made count for a while: %s",
        "nothing: for a minute they count against limits of [policies](policies.md)",
    ),
)
