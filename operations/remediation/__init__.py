"""Everything that stems from a message, and the plan that takes all of it back."""
