"""What an operator has to do something about."""
