"""Changes the preferences of an account."""

from django.db import transaction

from ..audit import log as audit
from ..models import User

PREFERENCES = ("language", "time_zone", "theme")


def change_preferences(user: User, **chosen: str) -> list[str]:
    """Change the given preferences that differ, and return their names.

    Like every change of an account, it is recorded in the audit log.
    """
    changed = {
        name: chosen[name] for name in PREFERENCES if chosen.get(name, getattr(user, name)) != getattr(user, name)
    }
    if changed:
        for name, value in changed.items():
            setattr(user, name, value)
        with transaction.atomic():
            user.save(update_fields=list(changed))
            detail = {name: value or "default" for name, value in changed.items()}
            audit.record(user.username, "preferences_changed", object_type="user", object_id=user.username, **detail)
    return list(changed)
