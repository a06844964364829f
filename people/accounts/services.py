"""Writes about users and their roles."""

import logging

from django.contrib.auth.hashers import make_password
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from openclaw_web.errors import Refused

from ..audit import log as audit
from ..authentication import sign_ins
from ..authentication.links import active_admins, has_admin, make_link, use_up
from ..models import OneTimeLink, SignIn, User

log = logging.getLogger(__name__)


def make_first_admin_link() -> str:
    """The path of a link that creates the first admin.

    Raises Refused when there is an admin.
    """
    if has_admin():
        raise Refused(_("There is already an admin. For a sign-in link, run: openclaw-web sign_in_link NAME"))
    return make_link(None, by="")


def make_sign_in_link(user: User, *, by: str = "") -> str:
    """The path of a link that signs `user` in once, without a password."""
    check_is_active(user)
    return make_link(user, by=by)


def get_user(username: str) -> User:
    """The user with this name. Raises Refused, with a command to run, when missing."""
    user = User.objects.filter(username=username).first()
    if user is None:
        sentence = _("There is no user %(name)s. Add the user: openclaw-web create_user %(name)s")
        raise Refused(sentence % {"name": username})
    return user


def check_is_active(user: User) -> None:
    """Raise Refused for a user who is deactivated."""
    if not user.is_active:
        raise Refused(_("%(name)s is deactivated. Activate the account first.") % {"name": user.username})


def make_first_admin(secret: str, *, username: str, password: str) -> User:
    """Use the first admin's link up, and create that admin."""
    hashed = make_password(password)
    with transaction.atomic():
        use_up(secret)
        return create_user(username, User.Role.ADMIN, hashed, by=username)


def sign_in_by_link(secret: str, *, password: str = "") -> User:
    """Use a sign-in link up; return its user, with a new password if one is given."""
    hashed = make_password(password) if password else ""
    with transaction.atomic():
        user = use_up(secret).user
        if hashed:
            _set_password(user, hashed, by=user.username)
    return user


def change_password(user: User, password: str) -> None:
    """Set a new password.

    All browsers of the person are signed out and their links stop working; tokens continue to work.
    """
    hashed = make_password(password)
    with transaction.atomic():
        _set_password(user, hashed, by=user.username)


def check_name_fits(username: str) -> None:
    """Raise ValidationError for a name that users cannot have."""
    User.username_validator(username)
    if not any(map(str.isalnum, username)):  # a name such as `..` would get lost in an address
        raise ValidationError(_("A user name must contain a letter or a digit."))


def check_password_fits(password: str, *, username: str) -> None:
    """Raise ValidationError for a password that the site does not accept for `username`."""
    validate_password(password, User(username=username))


def create_user(username: str, role: str, hashed: str | None, *, by: str) -> User:
    """Create a user; without a password (None) only a link signs them in.

    Raises Refused for a name that is taken or not allowed.

    `hashed` is the result of `make_password`, which takes longer than a write may keep others waiting.
    """
    name = User.normalize_username(username)
    if User.objects.filter(username__iexact=name).exists():
        raise Refused(_("There is already a user %(name)s. Choose another name.") % {"name": name})
    user = User(username=name, role=role, password=hashed or make_password(None))  # without a password, none works
    try:
        check_name_fits(name)
        user.full_clean(exclude=["password"])
    except ValidationError as exc:
        raise Refused(" ".join(exc.messages)) from exc
    user.save()
    audit.record(by, "user_added", object_type="user", object_id=name, role=role)
    return user


def add_user(username: str, role: str, *, by: str = "") -> tuple[User, str]:
    """Create a user without a password; return the user and the path of a one-time link.

    `by` is for the log; commands leave it out, because they report it themselves.
    """
    with transaction.atomic():
        user = create_user(username, role, None, by=by)
        path = make_sign_in_link(user, by=by)
    if by:
        log.info("%s added the user %s (%s)", by, user.username, role)
    return user, path


def change_role(user: User, role: str, *, by: str) -> None:
    """Change the role of a person. The last active admin remains an admin."""
    with transaction.atomic():
        user.refresh_from_db()  # under the write lock: two admins cannot demote each other
        if role != User.Role.ADMIN:
            _keep_an_admin(user)
        before, user.role = user.role, role
        user.save(update_fields=["role"])
        audit.record(by, "role_changed", object_type="user", object_id=user.username, before=before, role=role)
    log.info("%s made %s a %s", by, user.username, role)


def deactivate(user: User, *, by: str) -> None:
    """Deactivate a person: sessions, links and tokens stop working.

    Raises Refused for the last active admin.
    """
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
    """Activate a person again, with their previous role and tokens."""
    with transaction.atomic():
        user.is_active = True
        user.save(update_fields=["is_active"])
        audit.record(by, "activated", object_type="user", object_id=user.username)
    log.info("%s activated %s", by, user.username)


def _set_password(user, hashed, *, by):
    user.password = hashed
    user.save(update_fields=["password"])
    sign_ins.end_all(user, because=SignIn.End.RESET)
    OneTimeLink.objects.filter(user=user, used_at=None).delete()
    audit.record(by, "password_changed", object_type="user", object_id=user.username)


def _keep_an_admin(user):
    if user.role == User.Role.ADMIN and user.is_active and not active_admins().exclude(pk=user.pk).exists():
        raise Refused(_("This is the last active admin. Give another user the role admin first."))
