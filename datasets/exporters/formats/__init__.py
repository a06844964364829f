"""What a row of each format looks like, and which rules it must keep."""
