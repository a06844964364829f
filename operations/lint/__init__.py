"""Finds what would break a schedule or a file."""
