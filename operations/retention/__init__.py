"""What becomes of old sessions: removed, or put into archives and removed, and had back from those."""
