"""Invitations: links with a role, for people who choose their own name and password."""

import secrets

from django.contrib.auth.hashers import make_password
from django.db import transaction
from django.db.models import QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _
from ulid import ULID

from openclaw_web import clock
from openclaw_web.errors import Refused

from ..audit import log as audit
from ..authentication import links
from ..models import Invitation, User
from . import services as accounts


def invite(role: str, *, by: str, days: int, note: str = "") -> tuple[Invitation, str]:
    """Create an invitation for `days` days; return it and the path of its link.

    The link is never shown again.
    """
    now, secret = clock.now_ms(), secrets.token_urlsafe(32)
    with transaction.atomic():
        invitation = Invitation.objects.create(
            id=str(ULID()),
            token_sha256=links.hash_secret(secret),
            role=role,
            note=note,
            made_by=by,
            created_at=now,
            expires_at=now + days * links.DAY_MS,
        )
        audit.record(by, "invited", object_type="invitation", object_id=invitation.id, role=role, days=days)
    return invitation, reverse("people:join", args=[secret])


def find_invitation(secret: str) -> Invitation:
    """The invitation of a secret. Raises Refused when it cannot be used.

    The caller uses it up.
    """
    invitation = open_invitations().filter(token_sha256=links.hash_secret(secret)).first()
    if invitation is None:
        raise _build_refusal()
    return invitation


def accept(secret: str, *, username: str, password: str) -> User:
    """Use an invitation up, and create its account.

    Raises Refused when it cannot be used, or when the name is taken.
    """
    hashed = make_password(password)  # hashed before the transaction, which keeps other writers waiting
    with transaction.atomic():
        invitation = find_invitation(secret)
        # One conditional update decides between two people who use the link at the same time.
        if not open_invitations().filter(id=invitation.id).update(used_at=clock.now_ms(), used_by=username):
            raise _build_refusal()
        user = accounts.create_user(username, invitation.role, hashed, by=username)
        audit.record(user.username, "invitation_used", object_type="invitation", object_id=invitation.id)
    return user


def revoke(invitation: Invitation, *, by: str) -> None:
    """Revoke an unused invitation. Revoking it again changes nothing."""
    with transaction.atomic():
        if open_invitations().filter(id=invitation.id).update(revoked_at=clock.now_ms()):
            audit.record(by, "invitation_revoked", object_type="invitation", object_id=invitation.id)


def open_invitations() -> QuerySet[Invitation]:
    """The invitations that can still be used."""
    return Invitation.objects.filter(used_at=None, revoked_at=None, expires_at__gt=clock.now_ms())


def _build_refusal():
    return Refused(_("This invitation has been used or revoked, or has expired. Ask an admin for a new invitation."))
