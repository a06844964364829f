"""Guarantees of the product, each with a planted fault and the test that the fault turns red."""
