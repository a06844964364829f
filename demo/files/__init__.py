"""The files of the demonstration home."""
