"""Kinds of samples: each is declared in a module, and one making, queueing, judging and one set of pages reads it."""
