"""All code that depends on SQLite's dialect."""
