"""The rows of a diff for the page of components, until that is Jinja2 as well."""

from django import template
from django.template import engines

register = template.Library()


@register.simple_tag
def diff_rows(view, diff, prefix=""):
    """The rows of a diff; `prefix` keeps the ids of two diffs of one page apart."""
    components = engines.all()[0].env.globals["ui"]
    return components.diff_rows(view.sections, "\r\n" if diff.has_one_ending else "\n", prefix)
