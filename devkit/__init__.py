"""A real Kafka, a gateway process and Java tools, for the demo, the tests and the bench."""
