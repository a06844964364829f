"""A global database that is not up to date is migrated first: without it no run could be written down."""

from collections.abc import Callable
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import DEFAULT_DB_ALIAS, connections
from django.utils.translation import gettext as _
from ulid import ULID

from openclaw_web.disk import publication
from openclaw_web.errors import Refused
from openclaw_web.sqlite import failures, inspection, snapshots

from .store import own_store


def bring_up_to_date(say: Callable[[str], object]) -> None:
    """Migrate the global database when it is not up to date; a copy of it is kept beside it.

    Raises Refused when it is damaged.
    """
    file = Path(connections[DEFAULT_DB_ALIAS].settings_dict["NAME"])
    inside = inspection.look(file)
    if inside.damage:
        sentence = _("The global database is damaged: %(why)s.") % {"why": inside.damage[:300]}
        raise Refused(f"{sentence} {failures.way_out(settings.HOME_DIR)}")
    if not own_store.pending(inside, is_global=True):
        return
    copy = file.with_name(f"openclaw.before-migrate-{ULID()}.sqlite")
    snapshots.take(file, copy)
    publication.restrict(copy, 0o600)
    say(_("The global database is not up to date. A copy is kept: %(path)s") % {"path": copy})
    call_command("migrate", verbosity=0)
