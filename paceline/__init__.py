"""The command line, the pipeline that wires the floors, and the simulated cluster."""
