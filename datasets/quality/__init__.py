"""Signals about turns, each a question with a measured answer, and the score of samples that follows from them."""
