"""Checkpoints: the records that a compaction removed from the context, packed."""
