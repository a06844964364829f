"""Bounded excerpts of contents."""
