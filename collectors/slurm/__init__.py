"""Jobs and nodes as Slurm's tools tell of them."""
