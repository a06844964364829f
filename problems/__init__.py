"""Problems that need a person."""
