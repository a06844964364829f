"""Authentication and limits of requests to the API."""
