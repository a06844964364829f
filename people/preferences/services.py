"""What a person chooses for their own account."""

from django.db import transaction

from ..audit import log as audit
from ..models import User

PREFERENCES = ("language", "time_zone", "theme")


def change_preferences(user: User, **chosen: str) -> list[str]:
    """Change what of CHOSEN is given and differs; its names. Like every change of an account it is in the audit log."""
    changed = {
        name: chosen[name] for name in PREFERENCES if chosen.get(name, getattr(user, name)) != getattr(user, name)
    }
    if changed:
        for name, value in changed.items():
            setattr(user, name, value)
        with transaction.atomic():
            user.save(update_fields=list(changed))
            told = {name: value or "default" for name, value in changed.items()}
            audit.record(user.username, "preferences_changed", object_type="user", object_id=user.username, **told)
    return list(changed)
