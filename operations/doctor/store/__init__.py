"""What the doctor finds in the store."""
