"""Lists of sessions, turns and records."""
