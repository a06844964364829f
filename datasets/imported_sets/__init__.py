"""Judged sets of other tools: their rows become samples of an origin of their own."""
