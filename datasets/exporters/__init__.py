"""Approved samples as rows of training files. Pure: no Django, no tables, no clock.

`samples` says what goes in, `rows` chooses the format, `checks` what trainers insist on, `files` writes it down.
"""
