"""The words of a list's filter by the index: which rows of one table have them."""

from django.db import DatabaseError
from django.utils.translation import gettext as _

from agents import databases
from openclaw_web.errors import Refused
from openclaw_web.sqlite import word_index

from . import words
from .fill import FILE
from .query import LAST, Query, parse
from .sources import MARK, Key, get_sources

MOST_COMPARED, AT_ONCE = 5_000, 500  # rows whose texts are compared with a phrase


def find_keys(
    db: str, text: str, source: str, part: str | None = None, *, kind: str = "", is_compared: bool = True
) -> list[tuple[str, Key]] | None:
    """Return the parts and keys of the newest rows of an agent's source with these words; None without an index.

    None too where the text has no word. Unless the caller compares the texts itself (`is_compared`), phrases are
    compared. Raises Refused for filters of the search.
    """
    try:
        query = parse(text)
    except Refused:  # only signs, which no index has
        return None
    if query.filters or query.since or query.until != LAST:
        raise Refused(_("Filters such as tool: or after: belong into the fields of this list, not into its words."))
    match = word_index.leave_out(query.match, query.match_without)
    if kind:
        match = word_index.join_all([match, word_index.quote(f"{MARK}{kind}")])
    try:
        with word_index.open_index(databases.get_path(db.removeprefix("agent_")).with_name(FILE)) as index:
            if index is None or (part is not None and not index.read_positions(source, [part])):
                return None
            keys = index.find_keys(match, source, part)
    except DatabaseError:  # damaged: the next run of the job builds it anew
        return None
    return keys if query.is_exact or not is_compared else _compare(query, db, source, keys[:MOST_COMPARED])


def _compare(query: Query, db, name, keys):
    source, matches = get_sources(is_global=False)[name], []
    for start in range(0, len(keys), AT_ONCE):
        items = source.read_items(db, keys[start : start + AT_ONCE])
        folded = {
            place: {name: words.fold(text) for name, text in item.fields.items()} for place, item in items.items()
        }
        matches += [
            place for place in keys[start : start + AT_ONCE] if place in folded and query.find_fields(folded[place])
        ]
    return matches
