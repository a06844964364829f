"""Who did what, when and through which door."""
