"""Shared parts of every page: roles, HTML, charts, files, compression."""
