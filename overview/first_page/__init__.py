"""The first page: its range, what it shows, and what it says before there is anything to show."""
