"""The names of the specs: `sessionId`, `fromTs`, `includePayload` for `session_id`, `from_ts`, `include_payload`."""

import re

HUMP = re.compile(r"_([a-z0-9])")
# Lists that span sessions filter by `session`, as their pages do.
ALSO = {"session": ("sessionId", "session_id"), "agent": ("agentId", "agent_id")}


def find_spellings(names):
    """`{spelling: name}` of every other spelling that these parameters have."""
    found = {to_camel_case(name): name for name in names} | {
        other: name for name in names for other in ALSO.get(name, ()) if other not in names
    }
    return {other: name for other, name in found.items() if other != name}


def to_camel_case(name):
    """`include_payload` as `includePayload`."""
    return HUMP.sub(lambda match: match[1].upper(), name)


def rename_query(query, known):
    """A QueryDict under our names; our own spelling wins when both are there."""
    if not any(other in known for other in query):
        return query
    ours = query.copy()
    for other in [name for name in query if name in known]:
        values = ours.pop(other)
        if known[other] not in ours:
            ours.setlist(known[other], values)
    return ours


def rename_body(body, known):
    """The same for the keys of an object."""
    others = {known[key]: value for key, value in body.items() if key in known}
    return others | {key: value for key, value in body.items() if key not in known} if others else body
