"""The processes of a running site."""
