"""Who may do what, what they did, and what they set."""
