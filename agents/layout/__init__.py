"""Where an OpenClaw home keeps what belongs to each agent: its configuration, folders, and what is odd about them."""
