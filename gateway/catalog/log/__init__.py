"""The catalog's log on Kafka: reading it into snapshots, and writing decisions to it."""
