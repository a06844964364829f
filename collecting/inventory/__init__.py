"""Every file of an agent: found, classified, and read or skipped with a reason."""
