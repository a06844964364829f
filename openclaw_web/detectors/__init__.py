"""Finds personal data and secrets in texts: kinds, places, rules and confidence. Without Django."""
