"""Topics: created, deleted, grown, moved. Requests that name namespaces, too, begin here."""
