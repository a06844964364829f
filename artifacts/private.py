"""Contents that not everybody who may look at an agent may read: of these kinds, and of no other."""

from django.utils.translation import gettext as _

from openclaw_web.errors import Refused

from .models import Artifact

# Who may read a kind. What is stored of it has neither a preview nor a summary of its words: lists are for everybody.
ROLES = {"gate_response": "operator"}


class Private(Refused):
    """The content is for people of a higher role."""

    status = 403


def check(db: str, row: Artifact, user) -> None:
    """Raises Private when `user` may not read a content: when every use of it is of a kind that is not theirs."""
    if row.kind not in ROLES:
        return
    kinds = Artifact.objects.using(db).filter(handle=row.handle).values_list("kind", flat=True).distinct()
    needed = [ROLES.get(kind, "viewer") for kind in kinds]
    if not any(user.has_role(role) for role in needed):
        raise Private(_("Only operators can read this artifact."))
