"""Readers of openclaw-reflection's files, which return plain dataclasses.

They use neither Django nor tables.
"""
