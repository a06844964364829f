"""A person's preferences: language, time zone and theme."""
