"""How samples are spelled on pages. Formatting only: no queries."""

from django import template

from ..words import STATUS_WORDS, TYPE_WORDS

register = template.Library()


@register.filter
def status_word(status):
    """`needs_review` as “Needs review”."""
    return STATUS_WORDS.get(status or "pending", status)


@register.filter
def type_word(sample_type):
    """`annotated_turn` as “Annotated turn”."""
    return TYPE_WORDS.get(sample_type, sample_type)
