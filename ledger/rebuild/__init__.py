"""Derived rows and sums, from the records again."""
