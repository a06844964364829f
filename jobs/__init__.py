"""Background jobs: work that outlives a request."""
