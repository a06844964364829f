"""The statistics as a page and as JSON: numbers with the way to their rows."""
