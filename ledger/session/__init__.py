"""The pages of one session."""
