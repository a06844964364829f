"""All that speaks SQLite's dialect."""
