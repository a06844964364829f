"""Readers of formats: they give records back and know no table."""
