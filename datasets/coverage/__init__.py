"""Whether the samples of a dataset cover what its agents do, what would fill the gaps, and what a row costs."""
