"""Finds samples that say the same, and decides which of them an export keeps.

The modules compute signatures of samples, find similar samples by them, and plan duplicates and split.
"""
