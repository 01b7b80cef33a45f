"""ORION-256, the reference cluster, simulated in the sources' own formats (ILLUSTRATIVE)."""
