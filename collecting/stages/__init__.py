"""The stages of a collect: each reads one kind of source."""
