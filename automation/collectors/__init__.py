"""Readers of formats: they return records and do not know tables."""
