"""One-time links, which let somebody in once. Secrets are kept as hashes only."""

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
    """The link that `secret` opens, while it can be used; using it is left to the caller. Raises Refused."""
    found = OneTimeLink.objects.filter(_usable(), token_sha256=hash_secret(secret)).select_related("user").first()
    if found is not None and found.user is None and has_admin():
        sentence = _(
            "There is already an admin, so this link no longer creates an account. Sign in, or run: %(command)s"
        )
        raise Refused(sentence % {"command": "openclaw-web sign_in_link NAME"})
    if found is None or (found.user is not None and not found.user.is_active):
        raise _dead_link()
    return found


def has_admin() -> bool:
    """Whether somebody can let others in: until then whoever starts the site gets a link that makes an admin."""
    return active_admins().exists()


def make_link(user: User | None, *, by: str) -> str:
    """The path of a new link for somebody, or for the first admin. The caller has checked that there may be one."""
    now = clock.now_ms()
    secret = secrets.token_urlsafe(32)
    with transaction.atomic():
        OneTimeLink.objects.create(
            token_sha256=hash_secret(secret), user=user, created_at=now, expires_at=now + LINK_LIFETIME_MS
        )
        audit.record(by, "link_made", object_type="user", object_id=user.username if user else _("the first admin"))
    return reverse("people:one_time_link", args=[secret])


def use_up(secret: str) -> OneTimeLink:
    """The link that `secret` opens, which nobody can use from now on. Raises Refused."""
    link = find_link(secret)
    # One conditional update decides between two people who come at the same time.
    if not OneTimeLink.objects.filter(_usable(), token_sha256=link.token_sha256).update(used_at=clock.now_ms()):
        raise _dead_link()
    return link


def _dead_link():
    return Refused(
        _("This link has been used or has expired. Ask an admin for a new link, or run: %(command)s")
        % {"command": "openclaw-web sign_in_link NAME"}
    )


def _usable():
    return Q(used_at=None, expires_at__gt=clock.now_ms())


def active_admins() -> QuerySet[User]:
    """Everybody who can let others in."""
    return User.objects.filter(role=User.Role.ADMIN, is_active=True)


def hash_secret(secret: str) -> str:
    """What is kept of a secret."""
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()
