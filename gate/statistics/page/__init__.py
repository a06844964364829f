"""The statistics as a page and as JSON; numbers link to their rows."""
