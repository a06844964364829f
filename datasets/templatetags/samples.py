"""How samples are spelled on pages. Formatting only: no queries."""

from django import template

from ..words import PART_WORDS, STATUS_WORDS, TYPE_WORDS

register = template.Library()


@register.filter
def status_word(status):
    """`needs_review` as “Needs review”."""
    return STATUS_WORDS.get(status or "pending", status)


@register.filter
def type_word(sample_type):
    """`annotated_turn` as “Annotated turn”."""
    return TYPE_WORDS.get(sample_type, sample_type)


@register.filter
def part_word(label):
    """`corrected` as it stands in a sentence."""
    return PART_WORDS.get(label, label)
