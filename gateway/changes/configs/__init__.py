"""DescribeConfigs, AlterConfigs and IncrementalAlterConfigs of topics and namespaces."""
