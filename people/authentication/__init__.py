"""Passwords, links, browsers, lockouts."""
