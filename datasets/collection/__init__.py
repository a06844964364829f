"""Collects samples by a strategy, and says of every turn why it is or is not one."""
