"""Where people are signed in: one row for each browser, from the moment it comes in until it is sent out.

The rows tell and end; what lets a browser in is Django's session. Ending one deletes that session; ending all of a
person's also raises their `session_epoch`, which no session from before survives.
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

# A link signs in without a password, so no backend has said whose session it will be.
BACKEND = "django.contrib.auth.backends.ModelBackend"
SESSION_KEY = "sign_in"  # in the session: the id of its row here
SEEN_EVERY_MS = 5 * 60_000
KEPT_MS = 90 * 86_400_000
AGENT_CHARACTERS = 300
PRUNED_AT_ONCE = 1_000  # rows, so that nobody waits long behind a clean-up


def begin_sign_in(request: HttpRequest, user: User, *, how: str) -> SignIn:
    """Sign this browser in as `user`, with a new session key. `how`: password, link, first_admin or invitation."""
    with transaction.atomic():
        _end(_of_this(request), because=SignIn.End.REPLACED)
        login(request, user, backend=BACKEND)
        request.session.cycle_key()  # login() keeps the key of a browser that was signed in as the same person
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
        audit.record(user.username, "signed_in", object_type="user", object_id=user.username, how=how)
    return row


def sign_out(request: HttpRequest) -> None:
    """Send this browser out."""
    name = request.user.get_username()
    with transaction.atomic():
        _end(_of_this(request), because=SignIn.End.SIGNED_OUT)
        audit.record(name, "signed_out", object_type="user", object_id=name)
        logout(request)


def end_sign_in(sign_in: SignIn, *, by: str) -> None:
    """Send one browser out. Ending it again changes nothing."""
    with transaction.atomic():
        if _end(SignIn.objects.filter(id=sign_in.id), because=SignIn.End.ENDED):
            name = sign_in.user.username
            audit.record(by, "sign_in_ended", object_type="user", object_id=name, sign_in=sign_in.id)


def end_all(user: User, *, because: str = SignIn.End.ENDED, but: str | None = None) -> int:
    """Send every browser of a person out, also those without a row, and end the rows, except the row `but`.

    How many rows that were. Whoever calls it says in the audit log what it was for.
    """
    with transaction.atomic():
        User.objects.filter(pk=user.pk).update(session_epoch=F("session_epoch") + 1)
        user.refresh_from_db(fields=["session_epoch"])
        return _end(SignIn.objects.filter(user=user).exclude(id=but), because=because)


def sign_out_everywhere(user: User, *, by: str) -> int:
    """Send every browser of a person out; how many that were."""
    with transaction.atomic():
        count = end_all(user)
        audit.record(by, "sign_ins_ended", object_type="user", object_id=user.username, count=count)
    return count


def end_others(request: HttpRequest) -> int:
    """Send every other browser of this person out; how many that were. This one stays, with a new session key."""
    user = request.user
    with transaction.atomic():
        count = end_all(user, but=request.session.get(SESSION_KEY))
        keep_this_browser(request)
        audit.record(user.username, "sign_ins_ended", object_type="user", object_id=user.username, count=count)
    return count


def keep_this_browser(request: HttpRequest) -> None:
    """Let this browser stay signed in after `end_all` or a new password, with a new session key."""
    update_session_auth_hash(request, request.user)
    SignIn.objects.filter(id=request.session.get(SESSION_KEY)).update(
        session_key=request.session.session_key,
        expires_at=clock.now_ms() + settings.SESSION_COOKIE_AGE * 1000,
        ended_at=None,
        ended_because="",
    )


def open_sign_ins(user: User) -> QuerySet[SignIn]:
    """Where a person is signed in now."""
    return SignIn.objects.filter(user=user, ended_at=None, expires_at__gt=clock.now_ms())


def note_seen(sign_in_id: str) -> None:
    """Note that a browser was here, at most once every five minutes."""
    now = clock.now_ms()
    is_due = Q(last_seen_at__lte=now - SEEN_EVERY_MS) | Q(last_seen_at__gt=now)
    SignIn.objects.filter(is_due, id=sign_in_id).update(last_seen_at=now)


def prune() -> None:
    """Delete what nobody needs any more: dead sessions, links and invitations, and rows that ended 90 days ago.

    At most a thousand of each; any process may call it any time.
    """
    lockout.correct_future_times()
    now = clock.now_ms()
    dead = SignIn.objects.filter(ended_at=None, expires_at__lte=now)
    _end(SignIn.objects.filter(id__in=_some(dead)), because=SignIn.End.EXPIRED)
    for rows in (
        SignIn.objects.filter(ended_at__lt=now - KEPT_MS),
        Session.objects.filter(expire_date__lt=timezone.now()),
        OneTimeLink.objects.filter(expires_at__lt=now),
        Invitation.objects.filter(expires_at__lt=now - KEPT_MS),
    ):
        rows.model.objects.filter(pk__in=_some(rows)).delete()


def _some(rows: QuerySet) -> Iterable:
    return list(rows.values_list("pk", flat=True)[:PRUNED_AT_ONCE])


def _of_this(request):
    return SignIn.objects.filter(id=request.session.get(SESSION_KEY))


def _end(rows, *, because):
    alive = rows.filter(ended_at=None)
    Session.objects.filter(session_key__in=alive.exclude(session_key=None).values("session_key")).delete()
    return alive.update(session_key=None, ended_at=clock.now_ms(), ended_because=because)
