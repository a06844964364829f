"""What a write of this site does to a file's place in the prompt: said before it is done, and accepted by a person."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from agents.models import Agent
from jobs.models import JobRun
from openclaw_web import clock
from openclaw_web.pages.formatting import listed

from ..models import Handover
from ..rollbacks.apply import FileChanged
from .forecast import Effect, forecast_effect

JOB_KIND = "guardian_handover"
STARTING_MS = 10_000  # in which a handover has its job
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
    """What a preview says of a write's effect. `is_harmful`: a person has to accept it."""

    effect: Effect
    sentence: str

    @property
    def is_harmful(self) -> bool:
        """Whether a file may fall out of the prompt."""
        return self.effect != Effect.NOTHING


class NotAccepted(FileChanged):
    """A write would take a file out of the prompt, and nobody said that this is accepted."""


def forecast_effects(agent: Agent, contents: Contents) -> dict[str, Effect]:
    """What writing each of these files does to its place in the prompt."""
    return {name: forecast_effect(agent, name, data) for name, data in contents.items()}


def forecast_notice(agent: Agent, contents: Contents) -> EffectNotice:
    """What a preview says of writing these files; without a file that changes, nothing happens."""
    return build_notice(forecast_effects(agent, contents))


def build_notice(effects: Mapping[str, Effect]) -> EffectNotice:
    """The same for effects that are known already, by file."""
    return EffectNotice(find_worst_effect(effects.values()), build_effect_sentence(effects) if effects else "")


def find_worst_effect(effects: Iterable[Effect]) -> Effect:
    """The effect that a person has to know of several."""
    known = set(effects)
    return next((effect for effect in (Effect.TAKEN_OUT, Effect.UNKNOWN) if effect in known), Effect.NOTHING)


def build_effect_sentence(effects: Mapping[str, Effect]) -> str:
    """The worst of these effects in a sentence, with the files that it is about."""
    worst = find_worst_effect(effects.values())
    files = listed(name for name, effect in effects.items() if effect == worst)
    return str(SENTENCES[worst]) % {"files": files}


def accept_effects(agent: Agent, contents: Contents, *, is_accepted: bool) -> Effect:
    """The effect of a write that is about to be made. Whoever calls this holds `places.alone`.

    Raises NotAccepted for one that takes a file out of the prompt, unless that is accepted, and Changed while the
    agent itself is asked to change one of the files.
    """
    check_not_handed_over(agent.db, contents)
    effects = forecast_effects(agent, contents)
    if (worst := find_worst_effect(effects.values())) != Effect.NOTHING and not is_accepted:
        how = _("Hand the change to the agent, write it now knowing this, or take the patch.")
        raise NotAccepted(f"{build_effect_sentence(effects)} {how}")
    return worst


def effect_to_json(effect: Effect) -> dict[str, str]:
    """The effect that a person accepted, for what is kept of a write; empty where nothing happens."""
    return {} if effect == Effect.NOTHING else {"effect": effect.value}


def check_not_handed_over(db: str, names: Iterable[str]) -> None:
    """Raises Changed while an agent is being asked to change one of these files."""
    rows = Handover.objects.using(db).filter(file_name__in=list(names)).exclude(state=Handover.State.ENDED)
    for row in rows.only("id", "file_name", "created_at"):
        if clock.is_recent(row.created_at, STARTING_MS) or _has_job(row.id):
            sentence = _("The agent is being asked to change %(file)s. Wait until that has ended, or cancel the job.")
            raise FileChanged(sentence % {"file": row.file_name})


def _has_job(handover_id):
    """Whether a job is at a handover: one whose process ended before it queued a job holds up nobody."""
    jobs_now = JobRun.objects.filter(kind=JOB_KIND, state__in=(JobRun.State.QUEUED, JobRun.State.RUNNING))
    return jobs_now.filter(params_json__contains=handover_id).exists()
