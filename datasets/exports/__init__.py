"""Exports: their options, building, files and pages.

The exporters define the rows.
"""
