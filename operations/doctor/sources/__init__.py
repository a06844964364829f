"""Checks and comparisons of OpenClaw's files for the doctor."""
