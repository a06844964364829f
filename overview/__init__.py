"""Sums of all agents by day."""
