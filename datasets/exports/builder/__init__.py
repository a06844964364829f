"""From samples to the files of an export: read in their order, split, written."""
