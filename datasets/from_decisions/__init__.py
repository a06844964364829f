"""Samples of decisions of memory_gate: what it saw and decided, and what people say of that."""
