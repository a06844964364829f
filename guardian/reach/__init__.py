"""Which turns had a line of a memory file in their context, and which replies repeat it."""
