"""The effect of a write on a file's place in the prompt, which a person accepts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.conf import settings
from django.db import models
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents.models import Agent
from jobs.models import JobRun
from openclaw_web import clock
from openclaw_web.disk import locks
from openclaw_web.pages.formatting import listed

from ..collectors.provenance import Record
from ..models import Handover
from ..rollbacks.apply import FileChanged
from .files import GUARDED, hash_content
from .provenance import read_live_record


class Effect(models.TextChoices):
    """The effect of a write by anybody but the agent."""

    NOTHING = "nothing"
    TAKEN_OUT = "taken_out"  # the agent's next write takes it out of the prompt
    UNKNOWN = "unknown"  # the record is of an unknown version, or cannot be read


def forecast_effect(agent: Agent, file_name: str, data: bytes | None) -> Effect:
    """Forecast the effect of writing `data` to a file; None removes the file.

    It follows from the record that OpenClaw has now.
    """
    if file_name not in GUARDED:
        return Effect.NOTHING
    return forecast_record_effect(read_live_record(agent, file_name), data)


def forecast_record_effect(record: Record | None, data: bytes | None) -> Effect:
    if record is None or record.is_untrusted:
        return Effect.NOTHING
    if not record.is_known:
        return Effect.UNKNOWN
    return Effect.NOTHING if data is not None and hash_content(data) == record.file_hash else Effect.TAKEN_OUT


JOB_KIND = "guardian_handover"
LOCK = "handover-{}.lock"  # of each agent, held while it is asked
STARTING_MS = 10_000  # within which a new handover gets its job
Contents = Mapping[str, bytes | None]  # what each file will hold; None: no file
SENTENCES: dict[str, str | Promise] = {
    Effect.NOTHING: gettext_lazy("This does not change whether OpenClaw puts %(files)s into prompts."),
    Effect.TAKEN_OUT: gettext_lazy("If this site writes it, the agent's next write takes %(files)s out of the prompt."),
    Effect.UNKNOWN: gettext_lazy("What a write of this site does to %(files)s in the prompt is not known."),
}
ACCEPTED: dict[str, str | Promise] = {
    Effect.TAKEN_OUT: gettext_lazy("Written knowing that the agent's next write takes the file out of the prompt."),
    Effect.UNKNOWN: gettext_lazy("Written while the effect on the prompt was not known."),
}


@dataclass(frozen=True, slots=True)
class EffectNotice:
    """The effect of a write in a preview; a person has to accept one that `is_harmful`."""

    effect: Effect
    sentence: str

    @property
    def is_harmful(self) -> bool:
        """Whether a file may fall out of the prompt."""
        return self.effect != Effect.NOTHING


class NotAccepted(FileChanged):
    """A write would take a file out of the prompt, and nobody has accepted that."""


def forecast_effects(agent: Agent, contents: Contents) -> dict[str, Effect]:
    """Return the effect of writing each of these files on its place in the prompt."""
    return {name: forecast_effect(agent, name, data) for name, data in contents.items()}


def forecast_notice(agent: Agent, contents: Contents) -> EffectNotice:
    """Return the notice about writing these files; NOTHING where no file changes."""
    return build_notice(forecast_effects(agent, contents))


def build_notice(effects: Mapping[str, Effect]) -> EffectNotice:
    return EffectNotice(find_worst_effect(effects.values()), build_effect_sentence(effects) if effects else "")


def find_worst_effect(effects: Iterable[Effect]) -> Effect:
    """Return the worst of several effects, which a person has to know."""
    known = set(effects)
    return next((effect for effect in (Effect.TAKEN_OUT, Effect.UNKNOWN) if effect in known), Effect.NOTHING)


def build_effect_sentence(effects: Mapping[str, Effect]) -> str:
    """Return a sentence about the worst of these effects, with the files it concerns."""
    worst = find_worst_effect(effects.values())
    files = listed(name for name, effect in effects.items() if effect == worst)
    return str(SENTENCES[worst]) % {"files": files}


def accept_effects(agent: Agent, contents: Contents, *, is_accepted: bool) -> Effect:
    """Return the effect of a write before it is carried out; the caller holds `workspace_access.exclusive_write`.

    Raises NotAccepted for a write that takes a file out of the prompt unless that is accepted, and FileChanged while
    the agent itself is asked to change one of the files.
    """
    check_not_handed_over(agent.db, contents)
    effects = forecast_effects(agent, contents)
    if (worst := find_worst_effect(effects.values())) != Effect.NOTHING and not is_accepted:
        advice = _("Hand the change to the agent, write it now knowing this, or take the patch.")
        raise NotAccepted(f"{build_effect_sentence(effects)} {advice}")
    return worst


def effect_to_json(effect: Effect) -> dict[str, str]:
    """Return the accepted effect for the stored write; empty where nothing happens."""
    return {} if effect == Effect.NOTHING else {"effect": effect.value}


def check_not_handed_over(db: str, names: Iterable[str]) -> None:
    """Raise FileChanged while an agent is asked to change one of these files."""
    rows = Handover.objects.using(db).filter(file_name__in=list(names)).exclude(state=Handover.State.ENDED)
    for row in rows.only("id", "file_name", "created_at"):
        is_working = locks.is_held(settings.HOME_DIR / "state" / LOCK.format(db.removeprefix("agent_")))
        if is_working or clock.is_recent(row.created_at, STARTING_MS) or _has_job(row.id):
            sentence = _("The agent is being asked to change %(file)s. Wait until that has ended, or cancel the job.")
            raise FileChanged(sentence % {"file": row.file_name})


def _has_job(handover_id):
    """Return whether a job works on a handover.

    A handover whose process ended before it queued a job holds nobody up.
    """
    open_jobs = JobRun.objects.filter(kind=JOB_KIND, state__in=(JobRun.State.QUEUED, JobRun.State.RUNNING))
    return open_jobs.filter(params_json__contains=handover_id).exists()
