"""HTML of records, steps and tables."""
