"""What changed between two texts. Pure."""
