"""Accepts the camelCase names of the specs beside our own snake_case names.

`sessionId`, `fromTs` and `includePayload` stand for `session_id`, `from_ts` and `include_payload`.
"""

import re

HUMP = re.compile(r"_([a-z0-9])")
# Lists filter by the names of their pages; by others until 2026-11, or where a table has another name.
BY = ("startedBy", "started_by", "exportedBy", "exported_by", "createdBy", "created_by")
ALSO = {
    "session": ("sessionId", "session_id"),
    "agent": ("agentId", "agent_id"),
    "by": BY,
    "export_format": ("kind",),
    "segment": ("state",),
}


def find_spellings(names):
    """Map every other spelling of these parameters to its name: `{spelling: name}`."""
    names_by_spelling = {to_camel_case(name): name for name in names} | {
        other: name for name in names for other in ALSO.get(name, ()) if other not in names
    }
    return {other: name for other, name in names_by_spelling.items() if other != name}


def to_camel_case(name):
    """Convert `include_payload` to `includePayload`."""
    return HUMP.sub(lambda match: match[1].upper(), name)


def rename_query(query, known):
    """A QueryDict with our names; of several spellings ours wins, then the one that was ours."""
    if not any(other in known for other in query):
        return query
    ours = query.copy()
    for other in sorted((name for name in query if name in known), key=lambda name: not name.islower()):
        values = ours.pop(other)
        if known[other] not in ours:
            ours.setlist(known[other], values)
    return ours


def rename_body(body, known):
    """The same object (a dictionary) with our names as keys."""
    others = {known[key]: value for key, value in body.items() if key in known}
    return others | {key: value for key, value in body.items() if key not in known} if others else body
