"""Proof that the ledger is unchanged: hashes of rows, heads, gaps, triggers, verification."""
