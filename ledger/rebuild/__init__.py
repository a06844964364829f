"""Derives rows and sums from stored records again."""
