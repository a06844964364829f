"""The doctor: checks sources and store, imports with a receipt, and undoes imports."""
