"""What stashing outputs saved."""
