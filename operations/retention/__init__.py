"""Retention: removes or archives old sessions, and restores archived ones."""
