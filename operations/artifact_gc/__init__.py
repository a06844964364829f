"""Garbage collection of the artifact store."""
