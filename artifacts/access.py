"""Access to contents that only operators may read.

Everybody who may look at an agent may read contents of all other kinds.
"""

from django.utils.translation import gettext as _

from openclaw_web.errors import Refused

from .models import Artifact

# Rows of these kinds have neither a preview nor a summary of words, because lists are for everybody.
FOR_OPERATORS = frozenset({"gate_response"})


class PrivateArtifact(Refused):
    """The content is for operators."""

    status = 403


def check_reader(db: str, row: Artifact, user) -> None:
    """Raises PrivateArtifact when `user` may not read a content.

    That is so when every use of it is of a kind that is for operators.
    """
    if row.kind not in FOR_OPERATORS or user.has_role("operator"):
        return
    if not Artifact.objects.using(db).filter(handle=row.handle).exclude(kind__in=FOR_OPERATORS).exists():
        raise PrivateArtifact(_("Only operators can read this artifact."))
