"""Checks of our own store for the doctor."""
