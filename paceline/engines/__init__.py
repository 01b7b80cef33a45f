"""The same work over the same partitions, in this process or on a Ray cluster."""
