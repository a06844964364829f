"""Samples of writes alone: opinions with corrections and rollbacks, right contents of files, page context."""
