"""Exports: what is asked for, read, written and published. What rows look like is the work of the exporters."""
