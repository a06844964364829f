"""Builds the files of an export from its samples.

Samples are read in their order, split into sides and written.
"""
