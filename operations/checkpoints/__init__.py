"""What a compaction took, packed."""
