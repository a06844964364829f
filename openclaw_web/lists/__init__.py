"""Lists that are bounded and filtered, as pages, files and answers of the API."""
