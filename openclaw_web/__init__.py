VERSION = "0.1.0"  # pyproject.toml says the same
