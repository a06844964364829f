"""Facts of a content: its type, size, summary, and whether it holds a secret."""
