"""Problems of the agents themselves, and the agents as checks for problems need them."""
