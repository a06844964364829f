"""Rows as files, and the files beside them."""
