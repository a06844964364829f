"""A session of ada with turns, and decisions on them."""

from gate.recording import windows
from gate.recording.windows import Window
from tests import factories
from tests.factories import T0

MINUTE = 60_000
EVIL = "<script>alert(1)</script>\"'\u202e"


def create_turns(count=3, *, session_id="s1", start=T0, texts=(), db="agent_ada", **more):
    """Stores a session with `count` turns, a minute apart, each answered after a second.

    `texts` are the messages of its user, the first ones first.
    """
    session = factories.SessionFactory(
        db=db, id=session_id, title="The nightly import", session_key=f"agent:ada:irc:group:#{session_id}"
    )
    user_texts = dict(enumerate(texts))
    return [
        factories.TurnFactory(
            db=db, id=f"{session_id}:u{n}", session=session, turn_number=n, created_at=start + n * MINUTE,
            latency_ms=1_000, user_message_id=f"u{n}", user_message_content=user_texts.get(n, f"Question {n}"),
            agent_message_id=f"a{n}", agent_message_content=f"Answer {n}", first_seq=2 * n, last_seq=2 * n + 1, **more,
        )
        for n in range(count)
    ]  # fmt: skip


def create_decision(number, **columns):
    """Stores a decision on the turn of this number."""
    columns = {"session_id": "s1", "turn_id": f"s1:u{number}", "created_at": T0 + number * MINUTE + 1} | columns
    return factories.DecisionFactory(**{"id": f"d{number}"} | columns)


def store_window(*texts, user="The question", reply="The answer"):
    """Stores a window and returns its hash.

    `texts` are its recent messages, of the user and of the agent by turns; `user` and `reply` are the turn itself.
    """
    roles = ("user", "agent")
    recent = tuple({"role": roles[n % 2], "message": text, "timestamp": T0 + n} for n, text in enumerate(texts))
    window = Window(recent, user, reply)
    windows.store_windows("agent_ada", [window])
    return window.hash
