"""API tokens for programs. Only hashes of secrets are stored."""

import hmac
import logging
import secrets

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from ulid import ULID

from openclaw_web import clock
from openclaw_web.errors import Refused
from openclaw_web.sqlite import statements

from ..audit import log as audit
from ..authentication.links import DAY_MS, hash_secret
from ..models import ApiToken, User
from . import services as accounts

log = logging.getLogger(__name__)
TOKEN_NAME = 100
USE_INTERVAL_MS = 60_000
# Every request of a program runs these two; as querysets they would take two to three times as long.
BY_PREFIX = """SELECT t.* FROM api_tokens t JOIN users u ON u.id = t.user_id AND u.is_active
WHERE t.prefix = %s AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > %s)"""
OWNER = "SELECT * FROM users WHERE id = %s"


def make_token(
    user: User, *, name: str, role: str, days: int | None = None, by: str | None = None
) -> tuple[ApiToken, str]:
    """Create a token of `user` for `days` days; return it and its text.

    Without `days` it does not expire. The text is never shown again. Raises Refused for a role above that of `user`.

    `by` is for the log when another person creates the token; a command passes an empty text.
    """
    if not user.has_role(role):
        raise Refused(_("A token cannot have a role above your own. Choose a lower role."))
    prefix, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
    now = clock.now_ms()
    with transaction.atomic():
        token = ApiToken.objects.create(
            id=str(ULID()),
            user=user,
            name=name,
            prefix=prefix,
            secret_sha256=hash_secret(secret),
            role=role,
            created_at=now,
            expires_at=now + days * DAY_MS if days else None,
        )
        detail = {"role": role, "days": days} | ({} if by is None else {"owner": user.username})
        who = user.username if by is None else by
        audit.record(who, "token_made", object_type="token", object_id=prefix, **detail)
    return token, f"oc_{prefix}_{secret}"


def make_token_for(username: str, *, name: str, role: str, days: int) -> tuple[ApiToken, str]:
    """Create a token of another user, for the command.

    `days` of 0 means until it is revoked. Returns the token and its text.

    Raises Refused for a user who is missing or deactivated, for a role above theirs, and for a name that no list could
    show.
    """
    user = accounts.get_user(username)
    accounts.check_is_active(user)
    if not user.has_role(role):
        values = {"name": user.username, "held": user.role, "role": role}
        raise Refused(_("%(name)s has the role %(held)s. Their tokens cannot have the role %(role)s.") % values)
    if not name.strip() or len(name) > TOKEN_NAME or not name.isprintable():
        raise Refused(_("A token name is a single line of 1 to %(most)s characters.") % {"most": TOKEN_NAME})
    return make_token(user, name=name.strip(), role=role, days=days or None, by="")


def revoke_token(token: ApiToken, *, by: str) -> None:
    """Revoke a token. Revoking it again changes nothing."""
    with transaction.atomic():
        changed = ApiToken.objects.filter(id=token.id, revoked_at=None).update(revoked_at=clock.now_ms())
        if changed:
            owner = token.user.username
            audit.record(by, "token_revoked", object_type="token", object_id=token.prefix, owner=owner)
    if changed:
        log.info("%s revoked the token %s of %s", by, token.prefix, token.user.username)


def visible_tokens(user: User) -> QuerySet[ApiToken]:
    """The tokens of a person; for an admin all tokens."""
    tokens = ApiToken.objects.select_related("user")
    return tokens if user.has_role("admin") else tokens.filter(user=user)


def find_user(text: str) -> User | None:
    """The user of a token, limited to the token's role; None when it is invalid.

    The time of the use is stored.
    """
    mark, _sep, rest = text.partition("_")
    prefix, _sep, secret = rest.partition("_")
    token = statements.read_object(ApiToken, BY_PREFIX, [prefix, clock.now_ms()])
    # The hash is compared also without a row, so that the time taken does not tell which prefixes exist.
    same = hmac.compare_digest(hash_secret(secret), token.secret_sha256 if token else hash_secret(""))
    if mark != "oc" or token is None or not same:
        return None
    now = clock.now_ms()
    if token.last_used_at is None or not clock.is_recent(token.last_used_at, USE_INTERVAL_MS):
        ApiToken.objects.filter(id=token.id).update(last_used_at=now)
    if user := statements.read_object(User, OWNER, [token.user_id]):
        user.role_limit, user.token = token.role, token
    return user


def get_public_part(text: str) -> str:
    """The part of a token that may be stored: `oc_<prefix>`."""
    return "_".join(text.split("_")[:2])
