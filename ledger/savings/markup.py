"""The HTML of the rows of the tables of savings; for the reason message_markup gives."""

from collections.abc import Sequence
from urllib.parse import quote

from django.http import QueryDict
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from openclaw_web.lists.filters import filled, labelled
from openclaw_web.pages import glyphs
from openclaw_web.pages.formatting import ago, number, tokens

from .sums import Savings, Sums, Use, tokens_of

TOOL = (
    '<tr><th scope="row">{name}</th>'
    '<td class="shares"><svg class="share" aria-hidden="true" width="100%%" height="10">'
    '<rect class="share__all" width="{all}%%" height="10"/>'
    '<rect class="share__saved" width="{saved}%%" height="10"/></svg></td>'
    '<td class="num" data-label="%s">{calls}</td>'
    '<td class="num" data-label="%s">{results}</td>'
    '<td class="num{bad}" data-label="%s">{failed}</td>'
    '<td class="num" data-label="%s">{chars}</td>'
    '<td class="num" data-label="%s">{tokens}</td>'
    '<td class="num" data-label="%s">{share}</td>'
    '<td class="num" data-label="%s">{stashed}</td>'
    '<td class="num" data-label="%s">{off}</td></tr>'
)
LABELS = (
    *(gettext_lazy("Calls"), gettext_lazy("Results"), gettext_lazy("Failed"), gettext_lazy("Characters")),
    *(gettext_lazy("Tokens"), gettext_lazy("Share"), gettext_lazy("Stashed"), gettext_lazy("Could be kept off")),
)
USE = (
    '<tr><td class="wide"><a class="clamp" href="{artifact}">{summary}</a></td>'
    '<td data-label="%s">{tool}</td>'
    '<td class="num" data-label="%s">{chars}</td>'
    '<td class="num" data-label="%s">{tokens}</td>'
    '<td class="num" data-label="%s"><a href="{record}">{when}</a></td></tr>'
)
USE_LABELS = (gettext_lazy("Tool"), gettext_lazy("Characters"), gettext_lazy("Tokens"), gettext_lazy("Record"))
REPEATED = (
    '<tr><td class="wide"><a class="clamp" href="{artifact}">{summary}</a></td>'
    '<td data-label="%s">{tool}</td>'
    '<td class="num" data-label="%s">{uses}</td>'
    '<td class="num" data-label="%s">{chars}</td>'
    '<td class="num" data-label="%s">{wasted}</td>'
    '<td class="num" data-label="%s"><a href="{record}">{when}</a></td></tr>'
)
REPEATED_LABELS = (
    *(gettext_lazy("Tool"), gettext_lazy("Times"), gettext_lazy("Characters")),
    *(gettext_lazy("Characters again"), gettext_lazy("One of its records")),
)


def tool_rows(found: Savings, address: QueryDict | None = None) -> SafeString:
    """A row for each tool, its bar as long as its characters; with an address, names narrow the page to one tool."""
    row = labelled(TOOL, LABELS)
    longest = max((sums.chars for sums in found.tools), default=0) or 1
    return SafeString("".join(_tool(row, sums, found.totals, longest, address) for sums in found.tools))


def largest_rows(agent_id: str, uses: Sequence[Use]) -> SafeString:
    """A row for each output, with links to the artifact and the record."""
    row, places = labelled(USE, USE_LABELS), _places(agent_id)
    return SafeString("".join(filled(row, **_use(places, use), tokens=tokens(tokens_of(use.chars))) for use in uses))


def repeated_rows(agent_id: str, uses: Sequence[Use]) -> SafeString:
    """A row for each content that came more than once."""
    row, places = labelled(REPEATED, REPEATED_LABELS), _places(agent_id)
    return SafeString(
        "".join(
            filled(row, **_use(places, use), uses=number(use.uses), wasted=number(use.wasted_chars)) for use in uses
        )
    )


def percent(part: int, whole: int) -> str:
    """`12%`, `<1%`, `–` of nothing."""
    if not whole:
        return "–"
    share = 100 * part / whole
    return "<1%" if 0 < share < 1 else f"{share:.0f}%"


def _tool(row, sums: Sums, totals: Sums, longest, address):
    name = glyphs.plain(sums.tool) or _("not said")
    if address is not None and sums.tool:
        query = address.copy()
        query["tool"] = sums.tool
        name = format_html('<a href="?{}">{}</a>', query.urlencode(), name)
    return filled(
        row,
        name=name,
        all=_width(sums.chars, longest),
        saved=_width(sums.saved_chars, longest),
        calls=number(sums.call_count),
        results=number(sums.result_count),
        bad=" bad" if sums.failed_count else "",
        failed=percent(sums.failed_count, sums.result_count),
        chars=number(sums.chars),
        tokens=tokens(sums.tokens),
        share=percent(sums.chars, totals.chars),
        stashed=percent(sums.stashed_chars, sums.chars),
        off=tokens(sums.saved_tokens),
    )


def _width(chars, longest):
    return max(round(100 * chars / longest, 1), 0.3) if chars else 0


def _places(agent_id):
    """What the addresses of an agent's artifacts and sessions begin with: reversing each of them is slow."""
    return reverse("artifacts:artifact_list", args=[agent_id]), reverse("ledger:session_list", args=[agent_id])


def _use(places, use: Use):
    artifacts, sessions = places
    return {
        "artifact": f"{artifacts}{use.sha256}/",
        "record": f"{sessions}{quote(use.session_id, safe='')}/records/{quote(use.record_id, safe='')}/",
        "summary": glyphs.plain(use.summary) or use.handle,
        "tool": glyphs.plain(use.tool or "") or "–",
        "chars": number(use.chars),
        "when": ago(use.created_at),
    }
