"""The first page: its range, its panels, and its state before the first import."""
