"""The part of an artifact that a page shows, or the problem with it."""

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from openclaw_web import amounts
from openclaw_web.errors import Refused

from ..contents import content_types
from ..errors import DamagedArtifact, NoSuchArtifact
from ..models import Artifact
from . import content_fetch, forms
from .content_fetch import FetchResult


@dataclass(frozen=True, slots=True)
class PageExcerpt:
    """An answer with its words, or a `problem` with advice.

    `status` is the status of the HTTP response.
    """

    form: forms.PartForm
    answer: FetchResult | None = None
    problem: str = ""
    advice: str = ""
    status: int = 200

    @property
    def left_out(self) -> list[str]:
        """Sentences on the omitted parts."""
        window, counts = self.answer.window, self.answer.counts
        sentences_by_part = {
            "before": _("Omitted before this part: %(chars)s."),
            "between": _("Omitted in the middle: %(chars)s."),
            "after": _("Omitted after this part: %(chars)s."),
        }
        parts = ((words, getattr(window, name).chars) for name, words in sentences_by_part.items())
        sentences = [words % {"chars": amounts.format_amount("characters", chars)} for words, chars in parts if chars]
        if more_bytes := counts.get("bytesLeftOut"):
            words = ngettext(
                "%(count)s more byte is not shown because this is not text.",
                "%(count)s more bytes are not shown because this is not text.",
                more_bytes,
            )
            sentences.append(words % {"count": f"{more_bytes:,}"})
        return sentences

    @property
    def matches_in_words(self) -> str:
        """The number of matches of a pattern or a path, in words; empty for other modes."""
        count = self.answer.counts.get("matches")
        if count is None:
            return ""
        return ngettext("%(count)s match", "%(count)s matches", count) % {"count": f"{count:,}"}

    @property
    def next(self) -> str:
        """The end of the address of the next part; empty at the end."""
        return forms.build_query(self.answer.next) if self.answer.next else ""

    @property
    def part_query(self) -> str:
        """The end of the address of this part."""
        return forms.build_query(self.answer.selector)

    @property
    def is_whole(self) -> bool:
        """Whether all of the content is shown."""
        return self.answer.selector.mode in ("headtail", "head", "tail") and not self.left_out

    @property
    def is_text(self) -> bool:
        """Whether there are selectors to choose from.

        Of bytes that are no text, only the first are shown.
        """
        return self.answer is None or content_types.is_text(self.answer.row.content_type)


def read_excerpt(agent, row: Artifact, form: forms.PartForm, *, by: str) -> PageExcerpt:
    """The part of a content that a form selects; a problem when it cannot be shown."""
    try:
        answer = content_fetch.fetch(agent.db, row.handle, form.selector, by=by, agent_id=agent.agent_id)
    except NoSuchArtifact as exc:
        advice = _("To make the artifact readable again, store the same content again.")
        return PageExcerpt(form, problem=exc.sentence, advice=advice, status=410)
    except DamagedArtifact as exc:
        advice = _(
            "Nothing of the content is shown. Store the same content again to repair the artifact; “Verify” "
            "names the problem."
        )
        return PageExcerpt(form, problem=exc.sentence, advice=advice, status=409)
    except Refused as exc:
        return PageExcerpt(form, problem=exc.sentence, status=422)
    return PageExcerpt(form, answer)
