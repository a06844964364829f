"""Kinds of samples, each declared in a module; creation, review, verdicts and pages are shared."""
