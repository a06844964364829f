"""Shared parts of every command: help, receipts, exit statuses, verbs."""
