"""How a request to the API is let in, once."""
