"""Of samples of writes alone: opinions with corrections and rollbacks, what a file should hold, how one is shown."""
