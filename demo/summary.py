"""What a compaction says about the conversation before it."""

GOALS = {
    "main": "Keep the Morning Tide shop running: orders, stock, customers, and what the team asks for.",
    "research": "Support the starter study: literature, measurements, analysis, and the manuscript.",
}
RULES = {
    "main": "- Ask before anything leaves the house: refunds above S$ 50, mails to customers, price changes\n"
    "- Chinese with 晓雯, English with everybody else",
    "research": "- Report n and the interval with every mean\n- Never change raw data; write to derived/ instead",
}

NOT_ASKED = ("Memory flush", "Result of ", "A new session was started")


def of(requests, place, chance):
    """A summary of the requests since the last compaction, in the sections OpenClaw uses."""
    wanted = [_line(text) for text in requests if not text.startswith(NOT_ASKED)]
    shown = sorted(chance.sample(range(len(wanted)), min(14, len(wanted))))
    done = "\n".join(f"- [x] {wanted[index]}" for index in shown[:-1]) or "- (none)"
    doing = f"- [ ] {wanted[shown[-1]]}" if shown else "- (none)"
    return (
        f"## Goal\n{GOALS[place.agent] if place.agent in GOALS else GOALS['main']}\n\n"
        f"## Constraints & Preferences\n{RULES.get(place.agent, RULES['main'])}\n\n"
        f"## Progress\n### Done\n{done}\n\n### In Progress\n{doing}\n\n### Blocked\n- (none)\n\n"
        f"## Key Decisions\n- **{len(wanted)} requests so far**: the latest ones are kept word for word below\n\n"
        "## Next Steps\n1. Answer the next message with the state above in mind"
    )


def _line(text):
    first = " ".join(text.split())
    return first if len(first) <= 110 else first[:109] + "…"
