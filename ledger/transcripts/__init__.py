"""Transcripts as rows, and what is derived from them."""
