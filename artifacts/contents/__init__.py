"""What a content is: its type, size, summary, and whether it holds a secret."""
