"""The doctor's check of signals: a sample of turns is asked again and compared."""

from collections import defaultdict
from collections.abc import Iterator

from django.utils.translation import gettext_lazy as _

from agents import databases
from agents.models import Agent
from ledger.models import Session
from openclaw_web.sqlite import write_queue
from openclaw_web.sqlite.integrity import DIFFERENT, Check

from ..models import SignalPosition, TurnSignals
from . import job, scores
from .turn_reader import SessionReader, build_people_finder

SAMPLED, DEEPLY_SAMPLED = 100, 2_000  # turns, spread over all
MOST_TURNS = 2_000  # of a session: the turns of longer ones are not compared
COMPARED = ("yes", "unknown", "waiting", "score")


def find_different(_db: str, most: int = SAMPLED) -> Iterator[str]:
    """Yield turns whose answers are other ones when they are asked again.

    Left out are turns that the next run of the job asks, and those of long sessions.
    """
    last = TurnSignals.objects.order_by("-id").values_list("id", flat=True).first() or 0
    step = max(1, last // most)
    by_session = defaultdict(dict)
    for row in TurnSignals.objects.filter(id__in=list(range(last, 0, -step))[:most], rule=job.RULE):
        by_session[row.agent_id, row.session_id][row.turn_id] = row
    state, weights = job.read_consent(), scores.read_weights()
    for (agent_id, session_id), rows in by_session.items():
        db = databases.find_alias(agent_id)
        session = Session.objects.using(db).filter(id=session_id).first() if db else None
        if session is None or job.select_turns(db, session_id).count() > MOST_TURNS:
            continue
        turns = list(job.select_turns(db, session_id))
        marks = job.compute_marks(turns, state)
        chosen = {turn_id for turn_id, row in rows.items() if marks.get(turn_id) == row.mark}
        for texts in SessionReader(db, session, build_people_finder(db)).read(turns, chosen):
            again = job.build_row(agent_id, texts, weights)
            if any(getattr(again, name) != getattr(rows[texts.id], name) for name in COMPARED):
                yield f"{texts.id} ({agent_id})"


def ask_again(_agent: Agent | None) -> int:
    """Ask all turns again; return how many."""
    with write_queue.global_transaction():
        SignalPosition.objects.update(position="")
    return job.fill_all()["turns"]


CHECKS = (
    Check(
        name="turn_signals",
        sentence=DIFFERENT,
        noun="turns",
        target=_("its records"),
        find=find_different,
        find_deep=lambda db: find_different(db, DEEPLY_SAMPLED),
        repair=ask_again,
        is_last=True,
    ),
)
