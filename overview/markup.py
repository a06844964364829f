"""Rows of agents as HTML."""

from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from openclaw_web.lists.filters import filled, labelled
from openclaw_web.lists.markup import addresses
from openclaw_web.pages.formatting import ago, money, number, tokens

from . import activity

# The cells of an agent behind its name: a column of the sums, and how it is written. overview.COLUMNS has the labels.
AGENT_CELLS = {
    "session_count": number,
    "turn_count": number,
    "error_count": number,
    "total_tokens": tokens,
    "cost_usd": money,
    "rejected_count": number,
    "last_activity_at": ago,
    "last_collected_at": ago,
}
AGENT_DAY_CELLS = {
    "turn_count": (_("Turns"), number),
    "tool_call_count": (_("Tool calls"), number),
    "error_count": (_("Errors"), number),
    "total_tokens": (_("Tokens"), tokens),
    "cost_usd": (_("Cost"), money),
}
AGENT_HEAD = '<tr><th scope="row"><a href="{address}">{agent}</a></th>'
AGENT_CELL = '<td class="num" data-label="%s">{{{name}}}</td>'


def agent_rows(agents):
    """The rows of AgentSummary: several hundred on one page."""
    names = list(AGENT_CELLS)
    row = _agent_row(names, [activity.COLUMNS[name] for name in names])
    parts = [{name: SafeString(write(getattr(agent, name))) for name, write in AGENT_CELLS.items()} for agent in agents]
    address_of = addresses("ledger:session_list")
    return SafeString(
        "".join(
            filled(row, address=address_of(agent.agent_id), agent=agent.agent_id, **cells)
            for agent, cells in zip(agents, parts, strict=True)
        )
    )


def agent_day_rows(sums, period):
    """The rows of `overview.sums_in`."""
    row = _agent_row(AGENT_DAY_CELLS, [label for label, _write in AGENT_DAY_CELLS.values()])
    address_of = addresses("ledger:turn_list")
    found = []
    for one in sums:
        cells = {name: SafeString(write(one[f"sum_{name}"])) for name, (_label, write) in AGENT_DAY_CELLS.items()}
        address = f"{address_of(one['agent_id'])}?{period.query}"
        found.append(filled(row, address=address, agent=one["agent_id"], **cells))
    return SafeString("".join(found))


def _agent_row(names, labels):
    cells = "".join(AGENT_CELL.format(name=name) for name in names)
    return AGENT_HEAD + labelled(cells, labels) + "</tr>"
