"""Progress of jobs, and how they ended: trainers, step records, traces, launchers."""
