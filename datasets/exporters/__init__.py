"""Approved samples as rows of training files. Pure: no Django, no tables, no clock.

`samples` says what goes in, `training_rows` chooses the format, `formats.checks` knows what trainers insist on, `files`
writes it down.
"""
