"""Verdicts that repeat a note of somebody else: a note of the doctor, until a run has it on its receipt."""

from collections.abc import Iterator

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from datasets.review import copied_notes

from ..findings import NOTE, Finding

NAMED = 50


def look() -> Iterator[Finding]:
    """One finding that names them; nothing where there are none, or once a run of `--fix` has listed them."""
    if found := copied_notes.unlisted():
        yield Finding("copied_notes", _sentence(found), level=NOTE, repair="list_copied_notes")


def list_them(finding: Finding) -> str:
    """The same sentence for the receipt; from then on nobody is told again. Verdicts stay as they are."""
    copied_notes.mark_listed()
    return finding.sentence


def _sentence(found):
    sentence = ngettext(
        "%(count)s verdict repeats a note that somebody else wrote: the note field used to start with "
        "the last note. Verdicts are never changed, so this one is listed once: %(rows)s.",
        "%(count)s verdicts repeat a note that somebody else wrote: the note field used to start with "
        "the last note. Verdicts are never changed, so these are listed once: %(rows)s.",
        len(found),
    )
    rows = [
        _("sample %(sample)s, verdict of %(by)s, note of %(author)s")
        % {"sample": one.sample_id, "by": one.labelled_by, "author": one.written_by}
        for one in found[:NAMED]
    ]
    more = _(" and %(count)s more") % {"count": len(found) - NAMED} if len(found) > NAMED else ""
    return sentence % {"count": len(found), "rows": "; ".join(rows) + more}
