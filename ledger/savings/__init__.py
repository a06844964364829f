"""Savings by stashed outputs, and sizes of prompts."""
