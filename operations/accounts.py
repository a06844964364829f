"""Every write about people: users, their roles, one-time links and tokens. Secrets are kept as hashes only."""

import hashlib
import hmac
import logging
import secrets

from django.contrib.auth.hashers import make_password
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext as _
from ulid import ULID

from agents import audit, clock
from openclaw_web.errors import Refused

from . import sign_ins
from .models import ApiToken, OneTimeLink, SignIn, User

log = logging.getLogger(__name__)

DAY_MS = 86_400_000
LINK_LIFETIME_MS = DAY_MS
TOKEN_NAME = 100
USE_NOTED_EVERY_MS = 60_000
# Every request of a program begins with these two: written out, because the ORM takes longer to write than to ask them.
BY_PREFIX = """SELECT t.* FROM api_tokens t JOIN users u ON u.id = t.user_id AND u.is_active
WHERE t.prefix = %s AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > %s)"""
OWNER = "SELECT * FROM users WHERE id = %s"


def make_first_admin_link() -> str:
    """The path of a link that makes the first admin. Raises Refused once there is an admin."""
    if has_admin():
        raise Refused(_("There is an admin already. To sign one in, run: openclaw-web sign_in_link NAME"))
    return _make_link(None, by="")


def make_sign_in_link(user: User, *, by: str = "") -> str:
    """The path of a link that signs `user` in once, without a password."""
    if not user.is_active:
        raise Refused(_("%(name)s is deactivated. Activate the account first.") % {"name": user.username})
    return _make_link(user, by=by)


def find_link(secret: str) -> OneTimeLink:
    """The link that `secret` opens, while it can be used; using it is left to the caller. Raises Refused."""
    found = OneTimeLink.objects.filter(_usable(), token_sha256=digest(secret)).select_related("user").first()
    if found is not None and found.user is None and has_admin():
        sentence = _("There is an admin by now, so this link makes none. Sign in, or run: %(command)s")
        raise Refused(sentence % {"command": "openclaw-web sign_in_link NAME"})
    if found is None or (found.user is not None and not found.user.is_active):
        raise _dead_link()
    return found


def has_admin() -> bool:
    """Whether somebody can let others in: until then whoever starts the site gets a link that makes an admin."""
    return _active_admins().exists()


def make_first_admin(secret: str, *, username: str, password: str) -> User:
    """Use the first admin's link up and make that admin."""
    hashed = make_password(password)
    with transaction.atomic():
        _use_up(secret)
        return create_user(username, User.Role.ADMIN, hashed, by=username)


def sign_in_by_link(secret: str, *, password: str = "") -> User:
    """Use a sign-in link up; the person it was for, with a new password if one is given."""
    hashed = make_password(password) if password else ""
    with transaction.atomic():
        user = _use_up(secret).user
        if hashed:
            _set_password(user, hashed, by=user.username)
    return user


def change_password(user: User, password: str) -> None:
    """Give a person the password they chose. Their browsers are signed out, their links stop working; tokens stay."""
    hashed = make_password(password)
    with transaction.atomic():
        _set_password(user, hashed, by=user.username)


def check_name_fits(username: str) -> None:
    """Raise ValidationError for a name nobody can have here."""
    User.username_validator(username)
    if not any(map(str.isalnum, username)):  # `..` would be lost in an address
        raise ValidationError(_("A user name needs a letter or a digit."))


def check_password_fits(password: str, *, username: str) -> None:
    """Raise ValidationError for a password that the site does not accept for `username`."""
    validate_password(password, User(username=username))


def create_user(username: str, role: str, hashed: str | None, *, by: str) -> User:
    """A new person; without a password (None) only a link signs them in. Raises Refused for a name that cannot be.

    `hashed` is the password after `make_password`, which takes longer than a write may keep others waiting.
    """
    name = User.normalize_username(username)
    if User.objects.filter(username__iexact=name).exists():
        raise Refused(_("There is already a user %(name)s. Choose another name.") % {"name": name})
    user = User(username=name, role=role, password=hashed or make_password(None))  # of None: no password works
    try:
        check_name_fits(name)
        user.full_clean(exclude=["password"])
    except ValidationError as exc:
        raise Refused(" ".join(exc.messages)) from exc
    user.save()
    audit.record(by, "user_added", object_type="user", object_id=name, role=role)
    return user


def add_user(username: str, role: str, *, by: str = "") -> tuple[User, str]:
    """A new person without a password, and the path of the one-time link to hand over.

    `by` is for the log; a command leaves it out, it says itself what it did.
    """
    with transaction.atomic():
        user = create_user(username, role, None, by=by)
        path = make_sign_in_link(user, by=by)
    if by:
        log.info("%s added the user %s (%s)", by, user.username, role)
    return user, path


def change_role(user: User, role: str, *, by: str) -> None:
    """Give a person another role. The last active admin stays one."""
    with transaction.atomic():
        user.refresh_from_db()  # under the write lock: two admins cannot demote each other
        if role != User.Role.ADMIN:
            _keep_an_admin(user)
        before, user.role = user.role, role
        user.save(update_fields=["role"])
        audit.record(by, "role_changed", object_type="user", object_id=user.username, before=before, role=role)
    log.info("%s made %s a %s", by, user.username, role)


def deactivate(user: User, *, by: str) -> None:
    """Lock a person out: sessions, links and tokens stop working. The last active admin cannot be."""
    with transaction.atomic():
        user.refresh_from_db()
        _keep_an_admin(user)
        user.is_active = False
        user.save(update_fields=["is_active"])
        sign_ins.end_all(user, because=SignIn.End.DEACTIVATED)
        OneTimeLink.objects.filter(user=user).delete()
        audit.record(by, "deactivated", object_type="user", object_id=user.username)
    log.info("%s deactivated %s", by, user.username)


def activate(user: User, *, by: str) -> None:
    """Let a person in again, with the role and the tokens they had."""
    with transaction.atomic():
        user.is_active = True
        user.save(update_fields=["is_active"])
        audit.record(by, "activated", object_type="user", object_id=user.username)
    log.info("%s activated %s", by, user.username)


def make_token(
    user: User, *, name: str, role: str, days: int | None = None, by: str | None = None
) -> tuple[ApiToken, str]:
    """A token for programs of `user`, good for `days` or for ever, and its text, which is never shown again.

    `by` is for the log when somebody else makes it; a command passes an empty text.
    """
    if not user.has_role(role):
        raise Refused(_("A token cannot carry a role above your own. Choose a lower one."))
    prefix, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
    now = clock.now_ms()
    with transaction.atomic():
        token = ApiToken.objects.create(
            id=str(ULID()),
            user=user,
            name=name,
            prefix=prefix,
            secret_sha256=digest(secret),
            role=role,
            created_at=now,
            expires_at=now + days * DAY_MS if days else None,
        )
        detail = {"role": role, "days": days} | ({} if by is None else {"owner": user.username})
        who = user.username if by is None else by
        audit.record(who, "token_made", object_type="token", object_id=prefix, **detail)
    return token, f"oc_{prefix}_{secret}"


def make_token_for(username: str, *, name: str, role: str, days: int) -> tuple[ApiToken, str]:
    """What the command makes: a token of somebody else, good for `days` (0: until it is revoked), and its text.

    Raises Refused for a person who is not here or deactivated, a role above theirs, and a name that no list could show.
    """
    user = User.objects.filter(username=username).first()
    if user is None:
        told = {"name": username}
        raise Refused(_("There is no user %(name)s. Add one: openclaw-web create_user %(name)s") % told)
    if not user.is_active:
        raise Refused(_("%(name)s is deactivated. Activate the account first.") % {"name": user.username})
    if not user.has_role(role):
        told = {"name": user.username, "held": user.role, "role": role}
        raise Refused(_("%(name)s has the role %(held)s. A token of theirs cannot have the role %(role)s.") % told)
    if not name.strip() or len(name) > TOKEN_NAME or not name.isprintable():
        raise Refused(_("The name of a token is one line of 1 to %(most)s characters.") % {"most": TOKEN_NAME})
    return make_token(user, name=name.strip(), role=role, days=days or None, by="")


def revoke_token(token: ApiToken, *, by: str) -> None:
    """End a token. Ending it again changes nothing."""
    with transaction.atomic():
        changed = ApiToken.objects.filter(id=token.id, revoked_at=None).update(revoked_at=clock.now_ms())
        if changed:
            owner = token.user.username
            audit.record(by, "token_revoked", object_type="token", object_id=token.prefix, owner=owner)
    if changed:
        log.info("%s revoked the token %s of %s", by, token.prefix, token.user.username)


def user_of_token(text: str) -> User | None:
    """The person a token speaks for, limited to the token's role; None when it is not valid. Notes the use."""
    mark, _sep, rest = text.partition("_")
    prefix, _sep, secret = rest.partition("_")
    token = next(iter(ApiToken.objects.raw(BY_PREFIX, [prefix, clock.now_ms()])), None)
    # The hash is compared also without a row, so that the time taken does not tell which prefixes exist.
    same = hmac.compare_digest(digest(secret), token.secret_sha256 if token else digest(""))
    if mark != "oc" or token is None or not same:
        return None
    _note_use(token)
    user = next(iter(User.objects.raw(OWNER, [token.user_id])))
    user.role_limit, user.token = token.role, token
    return user


def public_part(text: str) -> str:
    """What of a token may be written down: `oc_<prefix>`."""
    return "_".join(text.split("_")[:2])


def _note_use(token):
    now = clock.now_ms()
    if token.last_used_at is None or token.last_used_at <= now - USE_NOTED_EVERY_MS:
        ApiToken.objects.filter(id=token.id).update(last_used_at=now)


def _make_link(user, *, by):
    now = clock.now_ms()
    secret = secrets.token_urlsafe(32)
    with transaction.atomic():
        OneTimeLink.objects.create(
            token_sha256=digest(secret), user=user, created_at=now, expires_at=now + LINK_LIFETIME_MS
        )
        audit.record(by, "link_made", object_type="user", object_id=user.username if user else _("the first admin"))
    return reverse("operations:one_time_link", args=[secret])


def _use_up(secret):
    link = find_link(secret)
    # One conditional update decides between two people who come at the same time.
    if not OneTimeLink.objects.filter(_usable(), token_sha256=link.token_sha256).update(used_at=clock.now_ms()):
        raise _dead_link()
    return link


def _dead_link():
    return Refused(
        _("This link has been used or is out of date. Ask an admin for a new one, or run: %(command)s")
        % {"command": "openclaw-web sign_in_link NAME"}
    )


def _usable():
    return Q(used_at=None, expires_at__gt=clock.now_ms())


def _set_password(user, hashed, *, by):
    user.password = hashed
    user.save(update_fields=["password"])
    sign_ins.end_all(user, because=SignIn.End.RESET)
    OneTimeLink.objects.filter(user=user, used_at=None).delete()
    audit.record(by, "password_changed", object_type="user", object_id=user.username)


def _keep_an_admin(user):
    if user.role == User.Role.ADMIN and user.is_active and not _active_admins().exclude(pk=user.pk).exists():
        raise Refused(_("This is the last active admin. Make somebody else an admin first."))


def _active_admins():
    return User.objects.filter(role=User.Role.ADMIN, is_active=True)


def digest(secret: str) -> str:
    """What is kept of a secret."""
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()
