"""The page of an export: rows and differences of a ready one, counts before."""
