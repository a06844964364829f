"""Where the rows behind a number are: addresses of the lists of decisions and of calls, with their filters."""

from urllib.parse import urlencode

from openclaw_web.pages.templates import url_or_none

from .figures import Period


class Rows:
    """Addresses of an agent's rows, all narrowed by the same `filters`; empty ones narrow nothing."""

    def __init__(self, agent_id: str, **filters: str) -> None:
        self.lists = url_or_none("gate:decision_list", agent_id), url_or_none("gate:call_list", agent_id)
        self.filters = filters

    def decisions(self, period: Period | None, **filters: str) -> str | None:
        """The decisions of some days (None: of all); `filters` are those of the list."""
        return _address(self.lists[0], period, self.filters | filters)

    def calls(self, period: Period | None, **filters: str) -> str | None:
        """The calls of some days. Their list knows no prompt versions: where one is asked for, no address is true."""
        wanted = self.filters | filters
        return None if wanted.pop("prompt", "") else _address(self.lists[1], period, wanted)


def prompt(agent_id: str, version: str, before: str = "") -> str | None:
    """The page of a prompt version, compared with another one."""
    page = url_or_none("gate:prompt_detail", agent_id, version)
    return page and (f"{page}?{urlencode({'from': before})}" if before else page)


def _address(page, period, filters):
    if page is None:
        return None
    days = {"from": str(period.start), "to": str(period.end)} if period else {}
    query = urlencode({name: value for name, value in filters.items() if value} | days)
    return f"{page}?{query}" if query else page
