"""The copy of an OpenClaw folder for a site on another machine: what an import may read, and nothing else."""
