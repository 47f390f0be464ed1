"""The APIs of configs: of topics and namespaces, brokers, broker loggers and groups."""
