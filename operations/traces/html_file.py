"""A session as one HTML file, without scripts and without anything that is loaded from elsewhere."""

from collections.abc import Iterator
from functools import partial

from django.template import loader
from django.utils.safestring import SafeString

from datasets.json_texts import dump_json
from ledger.markup import markdown

from .atif import format_time
from .canonical import AGENT, USER, SessionTrace, TraceMessage

TEMPLATE = "operations/session_file.html"
LONGEST_MARKDOWN = 50_000  # characters; a longer text is shown as it is


def write_page(trace: SessionTrace) -> Iterator[bytes]:
    """Yield the file in parts."""
    template = loader.get_template(TEMPLATE).template
    values = {"trace": trace, "session": trace.session, "dump": dump_json, "time": format_time}
    for part in template.generate(values | {"words": partial(render_words, trace)}):
        yield trace.numbers.encode(part.encode())


def render_words(trace: SessionTrace, message: TraceMessage) -> SafeString | None:
    """The words of a person or of the agent as safe HTML; None for what stands in the file as it is."""
    if message.role not in (USER, AGENT) or len(message.facts.text) > LONGEST_MARKDOWN:
        return None
    # Tokens first: pages mark the characters that markers are made of.
    return markdown.render(trace.numbers.encode(message.facts.text.encode()).decode())
