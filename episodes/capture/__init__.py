"""Automatic capture: rows that are stored here already become events of an agent's ledger."""
