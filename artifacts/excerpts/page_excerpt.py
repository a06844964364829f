"""What a page says of a part of an artifact, or why it cannot show one."""

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
    """An answer with its words, or a `problem` with what to do about it; `status` is what HTTP says of either."""

    form: forms.PartForm
    answer: FetchResult | None = None
    problem: str = ""
    advice: str = ""
    status: int = 200

    @property
    def left_out(self) -> list[str]:
        """Sentences on what is not shown."""
        window, counts = self.answer.window, self.answer.counts
        told = {
            "before": _("Omitted before this part: %(chars)s."),
            "between": _("Omitted in the middle: %(chars)s."),
            "after": _("Omitted after this part: %(chars)s."),
        }
        parts = ((words, getattr(window, name).chars) for name, words in told.items())
        said = [words % {"chars": amounts.format_amount("characters", chars)} for words, chars in parts if chars]
        if left := counts.get("bytesLeftOut"):
            words = ngettext(
                "%(count)s more byte is not shown because this is not text.",
                "%(count)s more bytes are not shown because this is not text.",
                left,
            )
            said.append(words % {"count": f"{left:,}"})
        return said

    @property
    def found(self) -> str:
        """How many places fit a pattern or a path; nothing for other modes."""
        count = self.answer.counts.get("matches")
        if count is None:
            return ""
        return ngettext("%(count)s match", "%(count)s matches", count) % {"count": f"{count:,}"}

    @property
    def next(self) -> str:
        """The end of the address that goes on from here; nothing at the end."""
        return forms.build_query(self.answer.next) if self.answer.next else ""

    @property
    def here(self) -> str:
        """The end of the address of this part."""
        return forms.build_query(self.answer.selector)

    @property
    def is_whole(self) -> bool:
        """Whether all of the content is shown."""
        return self.answer.selector.mode in ("headtail", "head", "tail") and not self.left_out

    @property
    def is_text(self) -> bool:
        """Whether there are selectors to choose from: of bytes that are no text only the first are shown."""
        return self.answer is None or content_types.is_text(self.answer.row.content_type)


def read_excerpt(agent, row: Artifact, form: forms.PartForm, *, by: str) -> PageExcerpt:
    """The part of a content that a form asks for; what cannot be shown is a Look with a problem."""
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
