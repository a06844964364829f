"""Turns of a transcript as conversations that trainers keep: sides alternate, and what a row teaches was approved."""
