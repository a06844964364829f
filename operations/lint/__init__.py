"""Checks of schedules and files for lines that read whole outputs."""
