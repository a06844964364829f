"""Rows as files, and what lies beside them."""
