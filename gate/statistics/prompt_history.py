"""When the prompt of the gate changed, read from the sums by day."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from ..models import GateDay
from .figures import DailySums, day_of, start_of


@dataclass(frozen=True, slots=True)
class PromptChange:
    """A prompt version that came into use on a day, and the version that decided most the last time before."""

    day: date
    prompt: str
    before: str


def find_prompt_changes(db: str, found: DailySums, *, model: str = "") -> list[PromptChange]:
    """The days of a period on which a prompt version was in use that was not on the last day before, the oldest first.

    Versions that nobody named change nothing. Of two gates that go on side by side neither comes into use again.
    """
    days: dict[int, dict[str, int]] = {}
    for day, _model, prompt, total, *_rest in found.rows:
        if prompt and total:
            uses = days.setdefault(day, {})
            uses[prompt] = uses.get(prompt, 0) + total
    last = _last_before(db, start_of(found.period.start), model)
    told = []
    for day, uses in sorted(days.items()):
        if last:
            before = _most(last)
            told += [PromptChange(day_of(day), prompt, before) for prompt in sorted(uses) if prompt not in last]
        last = uses
    return told


def _last_before(db, start, model) -> Mapping[str, int]:
    """The versions in use on the last day before a moment, with how many decisions each."""
    rows = GateDay.objects.using(db).filter(day__lt=start, total__gt=0, prompt_version__gt="")
    rows = rows.filter(llm_model=model) if model else rows
    newest = rows.order_by("-day").values_list("day", flat=True).first()
    found: dict[str, int] = {}
    for prompt, total in rows.filter(day=newest).values_list("prompt_version", "total") if newest is not None else ():
        found[prompt] = found.get(prompt, 0) + total
    return found


def _most(uses):
    return max(uses, key=lambda prompt: (uses[prompt], prompt))
