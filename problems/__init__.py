"""What is wrong somewhere and needs a person."""
