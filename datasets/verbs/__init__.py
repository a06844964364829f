"""The verbs of `openclaw-web reflection dataset`, one module each, and what they share."""

from django.utils.translation import gettext as _

from openclaw_web.errors import Refused

from ..models import DatasetSample


def check_scored(option: str) -> None:
    """Raise Refused while no sample has a quality score; `option` asks for one."""
    if not DatasetSample.objects.filter(quality_score__isnull=False).exists():
        raise Refused(_("No sample has a quality score yet. Leave out %(option)s.") % {"option": option})
