"""Stages of an import: each reads one kind of source."""
