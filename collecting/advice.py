"""Suggests the command-line option that solves a refusal of an OpenClaw folder.

The sentences of refusals appear on pages too, which have no options.
"""

from django.conf import settings
from django.db import DatabaseError
from django.utils.translation import gettext as _

from agents import claims, homes
from agents.layout import home_agents
from openclaw_web.errors import Refused


def suggest_option(sentence: str, source: str | None, as_name: str | None) -> str:
    """The advice for a refusal; empty when the folder is not the reason."""
    root = claims.find_root(source or settings.STATE_DIR)
    try:
        claims.resolve_names(home_agents.read_home(root), as_name=as_name)
    except homes.NoHome as refused:
        return _("Use --source DIR.") if refused.sentence == sentence else ""
    except Refused as refused:
        is_taken = as_name is None and refused.sentence == sentence
        return _("Use --as NAME.") if is_taken else ""
    except DatabaseError:  # a damaged store cannot list the names in use: the store was refused, not the folder
        return ""
    return ""
