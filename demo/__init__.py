"""A made-up OpenClaw home in the real on-disk format, written by home.write_home.

It is the home of a bakery's web shop and of a lab.
"""
