"""Traces: whole sessions as files for other programs, redacted as training files are."""
