"""Addresses of the lists of decisions and calls that a number counts."""

from urllib.parse import quote_plus

from openclaw_web.pages.templates import url_or_none

from ..figures import Period


class RowAddresses:
    """Addresses of an agent's rows, all with the same `filters`; empty values are ignored."""

    def __init__(self, agent_id: str, **filters: str) -> None:
        self.lists = url_or_none("gate:decision_list", agent_id), url_or_none("gate:call_list", agent_id)
        self.filters = {name: value for name, value in filters.items() if value}

    def decisions(self, period: Period | None, **filters: str) -> str | None:
        """Return the address of the decisions of some days (None: of all days).

        `filters` are those of the list.
        """
        return self._build_address(self.lists[0], period, filters)

    def calls(self, period: Period | None, **filters: str) -> str | None:
        """Return the address of the calls of some days; None with a prompt version.

        The list of calls has no filter for prompt versions.
        """
        return None if "prompt" in self.filters else self._build_address(self.lists[1], period, filters)

    def _build_address(self, page, period, filters):
        if page is None:
            return None
        parts = [f"{name}={quote_plus(value)}" for name, value in (self.filters | filters).items()]
        parts += [f"from={period.start}", f"to={period.end}"] if period else []
        return f"{page}?{'&'.join(parts)}" if parts else page


def build_prompt_address(agent_id: str, version: str, before: str = "") -> str | None:
    """Return the address of a prompt version, compared with another one if given."""
    page = url_or_none("gate:prompt_detail", agent_id, version)
    return page and (f"{page}?from={quote_plus(before)}" if before else page)
