"""The quality score against verdicts of people: how well it tells what they approve from what they reject."""
