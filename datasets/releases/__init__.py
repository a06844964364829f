"""Datasets and their numbered releases: members with fixed sides, checks and comparisons."""
