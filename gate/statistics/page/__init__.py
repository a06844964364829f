"""The page of statistics and its API: what is asked for, and what is shown."""
