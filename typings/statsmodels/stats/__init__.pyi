# What we use of its statistics.
