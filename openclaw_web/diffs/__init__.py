"""Differences between two texts. Pure functions."""
