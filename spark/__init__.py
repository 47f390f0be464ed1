"""Spark jobs over the traffic log. They import pyspark and this package, nothing else."""
