"""Samples of writes to memory files: what write_guardian was asked and did, and what it should have done."""
