"""Log lines of the catalog and its topic."""

from __future__ import annotations

from typing import Final

from devkit.log_lines.log_line import LogLine

LINES: Final = (
    LogLine(
        "info",
        "the catalog is read to its end, at version %d",
        "nothing: the start",
    ),
    LogLine(
        "info",
        "the catalog is up to date at version %d",
        "nothing: it can be decided on again",
    ),
    LogLine(
        "info",
        "the catalog can be read again",
        "nothing",
    ),
    LogLine(
        "warning",
        "the catalog cannot be reached at %s:%d: %s",
        "do what it says, about `clusters.security` or the broker's certificate; said once "
        "for each broker and reason",
    ),
    LogLine(
        "warning",
        "the catalog cannot be read: %s",
        "see to the broker that leads `__kafka_gateway_catalog`; clients go on with the last "
        "state up to `catalog.max_staleness`",
    ),
    LogLine(
        "warning",
        "the catalog is out of date at version %d: what needs it is refused",
        "the same, soon: clients get errors that they try again after",
    ),
    LogLine(
        "warning",
        "the catalog's log is not the one read so far (%s): reading it anew",
        "find out who truncated or made `__kafka_gateway_catalog` anew; namespaces may be "
        "lost: importing an [export](cli.md#catalog) brings them back",
    ),
    LogLine(
        "error",
        "the catalog is lost (%s), and this process has version %d of it in memory: do not "
        "restart it; kafka-gateway catalog export --from-memory writes that to a file, which "
        "kafka-gateway catalog restore brings back",
        "[what it says](#when-the-catalog-is-lost)",
    ),
    LogLine(
        "warning",
        "topic '%s' cannot be made (%s): a gateway that starts after the catalog's topic was "
        "deleted begins an empty catalog",
        "let the gateway create topics that begin with `__kafka_gateway` "
        "([rights](brokers.md)): the mark of a catalog is one",
    ),
    LogLine(
        "warning",
        "--new-catalog changes nothing: there is a catalog; leave it out",
        "do it: left in a unit's file it would let a lost catalog begin anew at the next start",
    ),
    LogLine(
        "error",
        "the catalog's topic holds what no gateway wrote: %d records are skipped, such as the"
        " one at offset %d (key %r, %s: %s); find out who else may write to it",
        "[what it says](#junk-in-the-catalogs-topic); at most once a minute and worker",
    ),
    LogLine(
        "error",
        "the catalog lacks %d entities that it had (%s): let a gateway that still has them "
        "write them again, or import an export",
        "[what it says](#junk-in-the-catalogs-topic): junk has replaced them, and compaction "
        "has removed what was there",
    ),
    LogLine(
        "warning",
        "%d records that junk had replaced in the catalog are mended",
        "nothing, but find out who wrote the junk",
    ),
    LogLine(
        "warning",
        "what junk has replaced in the catalog is not written yet: %s",
        "nothing: it is tried again",
    ),
    LogLine(
        "error",
        "mending the catalog failed",
        "a defect: keep the lines; it is tried again",
    ),
    LogLine(
        "error",
        "catalog.key_file: the keys read before stay in use: %s",
        "mend the file; until it can be read, keys that were added to it are not known",
    ),
    LogLine(
        "warning",
        "the outcome of a change of the catalog is not known yet: %s",
        "nothing: it is looked up in the log before anyone is answered",
    ),
    LogLine(
        "warning",
        "version %d of the catalog is not read back",
        "nothing, unless it goes on: reading lags behind writing",
    ),
    LogLine(
        "debug",
        "the catalog could not be written: %s",
        "nothing: it is tried again, and the client is told if that does not help",
    ),
    LogLine(
        "debug",
        "%s:%d: %r",
        "nothing: why a broker did not answer the catalog's reader or writer",
    ),
    LogLine(
        "error",
        "reading the catalog failed",
        "a defect: keep the lines",
    ),
    LogLine(
        "error",
        "writing the catalog failed",
        "a defect: keep the lines",
    ),
    LogLine(
        "error",
        "preparing for a change of the catalog failed",
        "a defect: keep the lines; the change is followed all the same",
    ),
    LogLine(
        "error",
        "a subscriber to the catalog failed",
        "a defect: keep the lines",
    ),
    LogLine(
        "error",
        "telling of a change of the catalog failed",
        "a defect: keep the lines; the change was made, the audit log misses it",
    ),
    LogLine(
        "error",
        "%s",
        "it has a format, a kind of record or a signature that this gateway cannot read, and what "
        "needs it is refused: upgrade this gateway, or give it the `catalog.key_file` of the others"
        ", as the line says",
        at="catalog/log/reader.py",
        shown="the catalog …",
    ),
)
