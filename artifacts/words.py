"""What values of artifacts are called on pages, for templates and sentences. Formatting only: no queries."""

from people.configuration.keys import SECRET_KINDS


def secret_word(kind):
    """`aws_key` as “AWS key”; a kind of another version as it is."""
    return SECRET_KINDS.get(kind, kind)


WORDS = (secret_word,)
FILTERS = {made.__name__: made for made in WORDS}
