"""One-time links, which sign a person in once. Only hashes of secrets are stored."""

import hashlib
import secrets

from django.db import transaction
from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _

from openclaw_web import clock
from openclaw_web.errors import Refused

from ..audit import log as audit
from ..models import OneTimeLink, User

DAY_MS = 86_400_000
LINK_LIFETIME_MS = DAY_MS


def find_link(secret: str) -> OneTimeLink:
    """The link of a secret. Raises Refused when it cannot be used.

    The caller uses it up.
    """
    link = (
        OneTimeLink.objects.filter(_build_usable_condition(), token_sha256=hash_secret(secret))
        .select_related("user")
        .first()
    )
    if link is not None and link.user is None and has_admin():
        sentence = _(
            "There is already an admin, so this link no longer creates an account. Sign in, or run: %(command)s"
        )
        raise Refused(sentence % {"command": "openclaw-web sign_in_link NAME"})
    if link is None or (link.user is not None and not link.user.is_active):
        raise _build_refusal()
    return link


def has_admin() -> bool:
    """Whether there is an active admin.

    Until then, starting the site prints a link that creates one.
    """
    return active_admins().exists()


def make_link(user: User | None, *, by: str) -> str:
    """Create a link for a user, or for the first admin (None), and return its path.

    The caller has checked that such a link is allowed.
    """
    now = clock.now_ms()
    secret = secrets.token_urlsafe(32)
    with transaction.atomic():
        OneTimeLink.objects.create(
            token_sha256=hash_secret(secret), user=user, created_at=now, expires_at=now + LINK_LIFETIME_MS
        )
        audit.record(by, "link_made", object_type="user", object_id=user.username if user else _("the first admin"))
    return reverse("people:one_time_link", args=[secret])


def use_up(secret: str) -> OneTimeLink:
    """Use up the link of a secret, and return it. Raises Refused."""
    link = find_link(secret)
    # One conditional update decides between two people who use the link at the same time.
    if not OneTimeLink.objects.filter(_build_usable_condition(), token_sha256=link.token_sha256).update(
        used_at=clock.now_ms()
    ):
        raise _build_refusal()
    return link


def _build_refusal():
    return Refused(
        _("This link has been used or has expired. Ask an admin for a new link, or run: %(command)s")
        % {"command": "openclaw-web sign_in_link NAME"}
    )


def _build_usable_condition():
    return Q(used_at=None, expires_at__gt=clock.now_ms())


def active_admins() -> QuerySet[User]:
    """The active admins."""
    return User.objects.filter(role=User.Role.ADMIN, is_active=True)


def hash_secret(secret: str) -> str:
    """The hash of a secret, which is stored in its place."""
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()
