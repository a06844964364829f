"""Tools of the Model Context Protocol: one table, served by a command and by the API."""
