"""Users, tokens and invitations."""
