"""Decides whether a change can be handed to the agent, and from which content.

OpenClaw's record and the file have to agree.
"""

from dataclasses import dataclass, replace

from django.utils.translation import gettext as _

from agents.models import Agent
from ledger import consent

from .. import services
from ..detail import line_blame, opted_out_lines
from ..rollbacks.rollback_plan import RollbackPlan, hash_content
from ..runner.fact_selection import Memory
from ..runner.llm.tools import MOST_CONTENT, why_unreadable
from ..runner.proposals import ProposalPreview
from ..services import DamagedVersion, read_version_bytes
from ..standing import read_live_record
from ..standing.effects import Effect, forecast_record_effect
from ..standing.files import GUARDED
from . import external_command


@dataclass(frozen=True, slots=True)
class Offer:
    """One change that may be handed over, from `before` to `new_content`.

    OpenClaw's record names `before`. With `puts_back` the file holds something else, so `before` is put back first,
    which does no harm. With a `problem`, a sentence, nothing can be handed over. `effect` is that of a write of this
    site.
    """

    name: str
    now: bytes | None
    new_content: bytes | None
    before: bytes = b""
    puts_back: bool = False
    problem: str = ""
    effect: Effect = Effect.TAKEN_OUT

    @property
    def is_needed(self) -> bool:
        """Whether a write of this site may take the file out of the prompt."""
        return self.effect != Effect.NOTHING


def offer_rollback(agent: Agent, plan: RollbackPlan, chosen: bytes | None = None) -> Offer:
    """Return the offer for a planned rollback.

    `chosen` is what a person wants the file to hold instead.
    """
    is_open = bool(plan.conflicts) and chosen is None  # what a person will choose is not known yet
    new_content = plan.new_content if chosen is None else chosen
    offer = _build_offer(agent, plan.name, plan.now, (new_content or b"") if is_open else new_content, is_open=is_open)
    if not offer.problem and offer.is_needed and consent.read_opted_out():
        is_withheld = chosen is not None or opted_out_lines.has_withheld_lines(
            agent.db, [line_blame.FileBlame(agent.db, plan.audit.target_file or "").blame_before(plan.audit)]
        )
        return _with_problem(offer, _withheld_sentence()) if is_withheld else offer
    return offer


def offer_proposal(agent: Agent, preview: ProposalPreview) -> Offer:
    """Return the offer for a previewed proposal of the built-in guardian."""
    offer = _build_offer(agent, preview.run.target_file, preview.now, preview.new_content)
    if not offer.problem and offer.is_needed and consent.find_withheld_keys(agent.db, [preview.run.turn_id]):
        return _with_problem(offer, _withheld_sentence())
    return offer


def _build_offer(agent, name, now, new_content, *, is_open=False) -> Offer:
    record = read_live_record(agent, name) if name in GUARDED else None
    effect = forecast_record_effect(record, None if is_open else new_content)
    offer = Offer(name, now, new_content, effect=effect)
    if record is None or not offer.is_needed:
        return offer
    if problem := external_command.problem_of() or _find_problem(agent, name, now, new_content):
        return _with_problem(offer, problem)
    if not record.is_known:
        sentence = _("OpenClaw's record of %(file)s cannot be read, or is of a version that is not known.")
        return _with_problem(offer, sentence % {"file": name})
    if record.file_hash == hash_content(now):
        return replace(offer, before=now)
    before = _read_recorded(agent.db, name, record.file_hash)
    if before is None:
        sentence = _("%(file)s is not what OpenClaw's record names, and that version is not stored here.")
        return _with_problem(offer, sentence % {"file": name})
    if why_unreadable(before):
        return _with_problem(offer, _unreadable_sentence(name))
    if consent.read_opted_out():  # the authors of an older version's lines are not looked up
        return _with_problem(offer, _withheld_sentence())
    return replace(offer, before=before, puts_back=True)


def _find_problem(agent, name, now, new_content):
    if new_content is None:
        return _("The agent cannot be asked to remove %(file)s.") % {"file": name}
    if any(data is not None and why_unreadable(data) for data in (now, new_content)):
        return _unreadable_sentence(name)
    return _withheld_sentence() if Memory(agent).is_hidden(name) else ""


def _unreadable_sentence(name):
    words = {"file": name, "size": f"{MOST_CONTENT // 1024} kB"}
    return _("%(file)s is no plain text, or larger than %(size)s: nothing of it is handed over.") % words


def _read_recorded(db, name, content_hash):
    """Return the bytes that a record names, where a version has them."""
    version = services.find_versions(db, name).filter(content_hash=content_hash).first()
    try:
        return read_version_bytes(version) if version else None
    except DamagedVersion:
        return None


def _withheld_sentence():
    return _("Not handed over: the file holds, or may hold, words of somebody who has opted out.")


def _with_problem(offer, problem):
    return replace(offer, problem=problem)
