"""Exports of a release: its members, their sides, and where rows come from."""
