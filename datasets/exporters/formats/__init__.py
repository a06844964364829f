"""The rows of each format, and the rules that they must keep."""
