"""What templates can do with the words of samples. Formatting only: no queries."""

from .words import PART_WORDS, STATUS_WORDS, TYPE_WORDS


def status_word(status):
    """`needs_review` as “Needs review”."""
    return STATUS_WORDS.get(status or "pending", status)


def type_word(sample_type):
    """`annotated_turn` as “Annotated turn”."""
    return TYPE_WORDS.get(sample_type, sample_type)


def part_word(label):
    """`corrected` as it stands in a sentence."""
    return PART_WORDS.get(label, label)


FILTERS = {made.__name__: made for made in (status_word, type_word, part_word)}
