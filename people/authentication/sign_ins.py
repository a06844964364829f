"""Sign-ins of people: one row for each browser, until it is signed out.

The rows are for display and for ending; Django's session is what signs a browser in. Ending one sign-in deletes its
session. Ending all of a person's also increases their `session_epoch`, which makes all earlier sessions invalid.
"""

from collections.abc import Iterable

from django.conf import settings
from django.contrib.auth import login, logout, update_session_auth_hash
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from ulid import ULID

from openclaw_web import clock

from ..audit import log as audit
from ..models import Invitation, OneTimeLink, SignIn, User
from . import lockout

# A link signs in without a password, so no backend has authenticated the person.
BACKEND = "django.contrib.auth.backends.ModelBackend"
SESSION_KEY = "sign_in"  # key in the session, for the id of its row here
FIRST_VISIT = "first_visit"  # key in the session of the first admin, until the first page has shown what was imported
SEEN_EVERY_MS = 5 * 60_000
KEPT_MS = 90 * 86_400_000
AGENT_CHARACTERS = 300
PRUNED_AT_ONCE = 1_000  # rows, so that a clean-up does not keep other writers waiting


def begin_sign_in(request: HttpRequest, user: User, *, how: str) -> SignIn:
    """Sign this browser in as `user`, with a new session key.

    `how` is password, link, first_admin or invitation.
    """
    with transaction.atomic():
        _end_rows(_find_current(request), because=SignIn.End.REPLACED)
        login(request, user, backend=BACKEND)
        request.session.cycle_key()  # login() would keep the session key for the same person
        now = clock.now_ms()
        row = SignIn.objects.create(
            id=str(ULID()),
            user=user,
            session_key=request.session.session_key,
            how=how,
            address=request.META.get("REMOTE_ADDR", ""),
            user_agent=request.headers.get("User-Agent", "")[:AGENT_CHARACTERS],
            created_at=now,
            last_seen_at=now,
            expires_at=now + settings.SESSION_COOKIE_AGE * 1000,
        )
        request.session[SESSION_KEY] = row.id
        if how == "first_admin":
            request.session[FIRST_VISIT] = True
        audit.record(user.username, "signed_in", object_type="user", object_id=user.username, how=how)
    return row


def sign_out(request: HttpRequest) -> None:
    """Sign this browser out."""
    name = request.user.get_username()
    with transaction.atomic():
        _end_rows(_find_current(request), because=SignIn.End.SIGNED_OUT)
        audit.record(name, "signed_out", object_type="user", object_id=name)
        logout(request)


def end_sign_in(sign_in: SignIn, *, by: str) -> None:
    """Sign one browser out. Ending it again changes nothing."""
    with transaction.atomic():
        if _end_rows(SignIn.objects.filter(id=sign_in.id), because=SignIn.End.ENDED):
            name = sign_in.user.username
            audit.record(by, "sign_in_ended", object_type="user", object_id=name, sign_in=sign_in.id)


def end_all(user: User, *, because: str = SignIn.End.ENDED, but: str | None = None) -> int:
    """Sign out every browser of a person, and end the rows except `but`.

    Browsers without a row are signed out, too. Returns how many rows were ended.

    The caller records the reason in the audit log.
    """
    with transaction.atomic():
        User.objects.filter(pk=user.pk).update(session_epoch=F("session_epoch") + 1)
        user.refresh_from_db(fields=["session_epoch"])
        return _end_rows(SignIn.objects.filter(user=user).exclude(id=but), because=because)


def sign_out_everywhere(user: User, *, by: str) -> int:
    """Sign out every browser of a person; return how many there were."""
    with transaction.atomic():
        count = end_all(user)
        audit.record(by, "sign_ins_ended", object_type="user", object_id=user.username, count=count)
    return count


def end_others(request: HttpRequest) -> int:
    """Sign out every other browser of this person; return how many there were.

    This browser remains signed in, with a new session key.
    """
    user = request.user
    with transaction.atomic():
        count = end_all(user, but=request.session.get(SESSION_KEY))
        keep_this_browser(request)
        audit.record(user.username, "sign_ins_ended", object_type="user", object_id=user.username, count=count)
    return count


def keep_this_browser(request: HttpRequest) -> None:
    """Keep this browser signed in after `end_all` or a new password.

    Its session gets a new key.
    """
    update_session_auth_hash(request, request.user)
    SignIn.objects.filter(id=request.session.get(SESSION_KEY)).update(
        session_key=request.session.session_key,
        expires_at=clock.now_ms() + settings.SESSION_COOKIE_AGE * 1000,
        ended_at=None,
        ended_because="",
    )


def open_sign_ins(user: User) -> QuerySet[SignIn]:
    """The current sign-ins of a person."""
    return SignIn.objects.filter(user=user, ended_at=None, expires_at__gt=clock.now_ms())


def note_seen(sign_in_id: str) -> None:
    """Record that a browser was used, at most once every five minutes."""
    now = clock.now_ms()
    is_due = Q(last_seen_at__lte=now - SEEN_EVERY_MS) | Q(last_seen_at__gt=now)
    SignIn.objects.filter(is_due, id=sign_in_id).update(last_seen_at=now)


def prune() -> None:
    """Delete expired sessions, links and invitations, and rows that ended 90 days ago.

    At most a thousand of each are deleted. Any process may call it at any time.
    """
    lockout.correct_future_times()
    now = clock.now_ms()
    dead = SignIn.objects.filter(ended_at=None, expires_at__lte=now)
    _end_rows(SignIn.objects.filter(id__in=_take_ids(dead)), because=SignIn.End.EXPIRED)
    for rows in (
        SignIn.objects.filter(ended_at__lt=now - KEPT_MS),
        Session.objects.filter(expire_date__lt=timezone.now()),
        OneTimeLink.objects.filter(expires_at__lt=now),
        Invitation.objects.filter(expires_at__lt=now - KEPT_MS),
    ):
        rows.model.objects.filter(pk__in=_take_ids(rows)).delete()


def _take_ids(rows: QuerySet) -> Iterable:
    return list(rows.values_list("pk", flat=True)[:PRUNED_AT_ONCE])


def _find_current(request):
    return SignIn.objects.filter(id=request.session.get(SESSION_KEY))


def _end_rows(rows, *, because):
    alive = rows.filter(ended_at=None)
    Session.objects.filter(session_key__in=alive.exclude(session_key=None).values("session_key")).delete()
    return alive.update(session_key=None, ended_at=clock.now_ms(), ended_because=because)
