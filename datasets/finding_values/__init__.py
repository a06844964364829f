"""Values found in the texts of all agents, and the verdicts of people on them."""
