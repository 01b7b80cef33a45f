"""Series of other people's exporters: their names and labels by version of the source."""
