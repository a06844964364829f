"""The option that helps when an OpenClaw folder was refused: the sentences serve pages too, which have no options."""

from pathlib import Path

from django.conf import settings
from django.db import DatabaseError
from django.utils.translation import gettext as _

from agents import homes, sources
from openclaw_web.errors import Refused


def on_source(sentence: str, source: str | None, as_name: str | None) -> str:
    """What to add to the sentence of a refusal; nothing when the folder is not why."""
    root = Path(source or settings.STATE_DIR).expanduser().absolute()
    try:
        sources.names_here(homes.read_home(root), as_name=as_name)
    except homes.NoHome as refused:
        return _("Use --source DIR.") if refused.sentence == sentence else ""
    except Refused as refused:
        is_taken = as_name is None and refused.sentence == sentence
        return _("Use --as NAME.") if is_taken else ""
    except DatabaseError:  # a damaged store cannot tell which names are taken: that is what was refused, not the folder
        return ""
    return ""
