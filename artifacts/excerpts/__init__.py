"""Bounded looks into contents."""
