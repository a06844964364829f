"""The audit log: actions with person, time and means."""
