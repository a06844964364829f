"""Backups of a home: one file each, verified when written and tested by restoring.

See docs/backups.md.
"""
