"""Failed calls of tools and models, grouped by what failed and by the normalised message."""
