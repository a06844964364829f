"""Bounded, filtered lists, as pages, as files and in the API."""
