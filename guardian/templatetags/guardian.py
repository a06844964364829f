"""How files and diffs are spelled on pages. Formatting only: no queries."""

from django import template

from ..diffs import markup as diff_markup

register = template.Library()


@register.filter
def numbered_lines(piece):
    """A piece of a text with line numbers."""
    return diff_markup.lines(piece)


@register.simple_tag
def diff_rows(view, diff, prefix=""):
    """The rows of a diff; `prefix` keeps the ids of two diffs of one page apart."""
    return diff_markup.diff(view, diff, prefix=prefix)
