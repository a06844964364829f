"""How samples are spelled on pages. Formatting only: no queries."""

from django import template

from .. import diff_markup
from ..words import PART_WORDS, STATUS_WORDS, TYPE_WORDS

register = template.Library()
register.filter(diff_markup.word_changes)


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


@register.filter
def reason_word(code, reasons):
    """`wrong_fact` by its label; a code that the setting has no more, as it is."""
    return reasons.get(code, code)
