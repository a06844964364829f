"""Sign-in with passwords and links, browsers, lockout."""
