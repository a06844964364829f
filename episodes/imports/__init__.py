"""Imports of events: the existing tool's database and spool, and transcripts as its extractor reads them."""
