"""Actions of people in review, on samples and on found values: what "Undo" takes back."""

from typing import Any

from openclaw_web.sqlite import rows

from ..models import ReviewAction

REMEMBERED = 50  # latest actions of a person that can be undone


def store_action(kind: str, *, by: str, at: int, **columns: Any) -> None:
    """Store an action of a person, inside the caller's transaction.

    `columns` are the others of its row: 0 as `sample_count` is a verdict on a found value.
    """
    state = ReviewAction.State.DONE.value
    rows.insert_row(ReviewAction(actor=by, kind=ReviewAction.Kind(kind).value, at=at, state=state, **columns))


def find_last_action(
    by: str, label_id: str | None = None, *, is_on_value: bool = False, is_any: bool = False
) -> ReviewAction | None:
    """The last of a person's latest actions that was not undone, of any kind.

    With `label_id` that of one verdict, with `is_any` also an older one; with `is_on_value` the last on a found value.
    """
    actions = ReviewAction.objects.filter(actor=by).order_by("-at", "-id")
    latest = actions.filter(label_id=label_id) if is_any else actions[:REMEMBERED]
    done_actions = (action for action in latest if action.state == ReviewAction.State.DONE)
    fitting = (action for action in done_actions if label_id in (None, action.label_id))
    return next((action for action in fitting if action.is_on_value or not is_on_value), None)
