"""Turns of a transcript as conversations that trainers accept.

Sides alternate, and everything that a row teaches was approved.
"""
