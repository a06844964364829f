"""Statistics of samples and verdicts: the numbers, their page and their API."""
