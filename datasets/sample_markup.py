"""The rows of the list of samples, put together as ledger.lists.session_markup does."""

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from openclaw_web.lists.filters import filled, labelled
from openclaw_web.pages.formatting import ago, number

NOTHING = SafeString("")
ROW = (
    '<tr><td><a class="clamp" href="{href}">{user}</a></td>'
    '<td data-label="%s"><span class="clamp">{edited}{reply}</span></td>'
    '<td data-label="%s"><span class="badge badge--{status}">{status_word}</span></td>'
    '<td data-label="%s">{agent}</td>'
    '<td data-label="%s">{by}</td>'
    '<td class="num" data-label="%s">{turn}</td>'
    '<td class="num" data-label="%s">{made}</td></tr>'
)
EDITED = '<span class="muted">{}</span> '


def sample_rows(labels, rows):
    """The rows of a page of samples as `sample_list.in_words` gives them."""
    row = labelled(ROW, labels)
    edited = format_html(EDITED, _("edited:"))
    return SafeString("".join(_row(row, edited, sample) for sample in rows))


def _row(row, edited, sample):
    return filled(
        row,
        href=sample["href"],
        user=sample["user"],
        edited=edited if sample["is_edited"] else NOTHING,
        reply=sample["reply"],
        status=sample["status"],
        status_word=sample["status_word"],
        agent=sample["agent_id"],
        by=sample["by"],
        turn=number(sample["turn_number"]),
        made=ago(sample["created_at"]),
    )
