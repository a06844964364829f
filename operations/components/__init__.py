"""The page that shows every component."""
