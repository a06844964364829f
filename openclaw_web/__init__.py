VERSION = "0.2.0"  # pyproject.toml says the same
