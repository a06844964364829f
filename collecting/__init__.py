"""Imports OpenClaw homes into the store."""
