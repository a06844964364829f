"""Readers of openclaw-mem's ledger, spool and transcripts, without Django."""
