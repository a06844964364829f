"""Texts of transcripts for templates: Markdown, handles, the words of values."""
