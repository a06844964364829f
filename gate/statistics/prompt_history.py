"""Finds the days on which the gate's prompt changed, in the sums by day."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from openclaw_web import clock
from openclaw_web.lists.filters import start_of

from ..models import GateDay
from .figures import DailySums


@dataclass(frozen=True, slots=True)
class PromptChange:
    """A prompt version that came into use on a day, and the most used version before."""

    day: date
    prompt: str
    before: str


def find_prompt_changes(db: str, daily_sums: DailySums, *, model: str = "") -> list[PromptChange]:
    """Return the changes of the prompt version in a period, the oldest first.

    A version comes into use on a day when it was not in use on the last day before. Decisions without a version are
    ignored. Of two gates that are used at the same time, neither comes into use again.
    """
    days: dict[int, dict[str, int]] = {}
    for day, _model, prompt, total, *_rest in daily_sums.rows:
        if prompt and total:
            uses = days.setdefault(day, {})
            uses[prompt] = uses.get(prompt, 0) + total
    last = _read_last_uses(db, start_of(daily_sums.period.start), model)
    prompt_changes = []
    for day, uses in sorted(days.items()):
        if last:
            before = max(last, key=lambda prompt: (last[prompt], prompt))
            prompt_changes += [
                PromptChange(clock.day_of(day), prompt, before) for prompt in sorted(uses) if prompt not in last
            ]
        last = uses
    return prompt_changes


def _read_last_uses(db, start, model) -> Mapping[str, int]:
    """Return the versions in use on the last day before a moment, with their decisions."""
    rows = GateDay.objects.using(db).filter(day__lt=start, total__gt=0, prompt_version__gt="")
    rows = rows.filter(llm_model=model) if model else rows
    newest = rows.order_by("-day").values_list("day", flat=True).first()
    uses: dict[str, int] = {}
    for prompt, total in rows.filter(day=newest).values_list("prompt_version", "total") if newest is not None else ():
        uses[prompt] = uses.get(prompt, 0) + total
    return uses
