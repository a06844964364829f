"""Contents as files named by their hash."""
