"""Settings that an operator tunes, and saved views of lists."""
