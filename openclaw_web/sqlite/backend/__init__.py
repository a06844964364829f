"""Django's backend for SQLite, with placeholders that are spelled once for each statement."""
