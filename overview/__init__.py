"""Sums of all agents by day and hour, and the first page."""
