"""Backups: one file that is restored and verified, not only written. See docs/backups.md."""
