"""Reads OpenClaw homes into the store."""
