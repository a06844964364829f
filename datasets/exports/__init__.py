"""Exports: their options, building, files and pages.

`rows` and `formats` define what is in a file.
"""
