"""Contents that not everybody who may look at an agent may read: of these kinds, and of no other."""

from django.utils.translation import gettext as _

from openclaw_web.errors import Refused

from .models import Artifact

# What is stored of these has neither a preview nor a summary of its words: lists are for everybody.
FOR_OPERATORS = frozenset({"gate_response"})


class PrivateArtifact(Refused):
    """The content is for operators."""

    status = 403


def check_reader(db: str, row: Artifact, user) -> None:
    """Raises Private when `user` may not read a content: when every use of it is of a kind that is for operators."""
    if row.kind not in FOR_OPERATORS or user.has_role("operator"):
        return
    if not Artifact.objects.using(db).filter(handle=row.handle).exclude(kind__in=FOR_OPERATORS).exists():
        raise PrivateArtifact(_("Only operators can read this artifact."))
