"""Clears the artifact store."""
