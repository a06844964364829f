"""People, invitations and tokens over the JSON API."""

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from ninja import Query

from openclaw_web.endpoints.operations import Operations
from openclaw_web.endpoints.schemas import Page, PageQuery, page_to_json
from openclaw_web.errors import Refused
from openclaw_web.lists.paging import page_of
from openclaw_web.pages.roles import needs

from ..authentication import lockout, sign_ins
from ..models import Invitation, User
from . import invitations
from . import services as accounts
from . import tokens as accounts_tokens
from .schemas import (
    InvitationIn,
    InvitationMade,
    InvitationOut,
    LinkOut,
    MeOut,
    RoleIn,
    SignInOut,
    TokenIn,
    TokenMade,
    TokenOut,
    UserIn,
    UserOut,
)

router = Operations("operations_people_api", tags=["people"])
NEWEST_FIRST = ("-created_at", "-id")


@router.get("/me", MeOut)
@needs("viewer")
def me(request):
    """Your user, your role, and how many requests you may send."""
    user, token = request.user, request.user.token
    return {
        "username": user.username,
        "role": min(user.role, user.role_limit or user.role, key=User.RANK.get),
        "own_role": user.role,
        "token": token and f"oc_{token.prefix}",
        "token_name": token and token.name,
        "token_expires_at": token and token.expires_at,
        "limits": {"limit": settings.API_PER_MINUTE, "remaining": getattr(request, "requests_left", None)},
    }


@router.get("/me/sign-ins", Page[SignInOut], 409)
@needs("viewer")
def sign_in_list(request, filters: Query[PageQuery]):
    """The browsers you are signed in with, latest sign-in first."""
    return page_to_json(page_of(sign_ins.open_sign_ins(request.user), order=NEWEST_FIRST, **filters.place))


@router.post("/me/sign-ins/{sign_in_id}/end", SignInOut, 404, 409)
@needs("viewer")
def sign_in_end(request, sign_in_id: str):
    """Sign out one of your browsers."""
    sign_in = get_object_or_404(request.user.sign_ins, id=sign_in_id)
    sign_ins.end_sign_in(sign_in, by=request.user.username)
    sign_in.refresh_from_db()
    return sign_in


@router.get("/operations/users", Page[UserOut], 409)
@needs("admin")
def user_list(request, filters: Query[PageQuery]):
    """All users, by name."""
    page = page_of(User.objects.all(), order=("username",), **filters.place)
    locked = lockout.locked_names([user.username for user in page])
    return page_to_json(page, [_user_to_json(user, is_locked=user.username in locked) for user in page])


@router.post("/operations/users", LinkOut, 400, 409)
@needs("admin")
def user_add(request, response: HttpResponse, body: UserIn):
    """Add a user without a password; returns the one-time link to hand over."""
    user, path = accounts.add_user(body.username, body.role, by=request.user.username)
    return _link_to_json(request, response, user, path)


@router.post("/operations/users/{username}/link", LinkOut, 404, 409)
@needs("admin")
def user_link(request, response: HttpResponse, username: str):
    """Create another one-time link for a user."""
    user = get_object_or_404(User, username=username)
    return _link_to_json(request, response, user, accounts.make_sign_in_link(user, by=request.user.username))


@router.post("/operations/users/{username}/role", UserOut, 400, 404, 409)
@needs("admin")
def user_role(request, username: str, body: RoleIn):
    """Change the role of a user. The last active admin keeps this role."""
    return _change_user(request, username, accounts.change_role, role=body.role)


@router.post("/operations/users/{username}/deactivate", UserOut, 404, 409)
@needs("admin")
def user_deactivate(request, username: str):
    """Deactivate a user: sign-ins, links and tokens stop working."""
    return _change_user(request, username, accounts.deactivate)


@router.post("/operations/users/{username}/activate", UserOut, 404, 409)
@needs("admin")
def user_activate(request, username: str):
    """Activate a user again, with the previous role and tokens."""
    return _change_user(request, username, accounts.activate)


@router.post("/operations/users/{username}/sign-out", UserOut, 404, 409)
@needs("admin")
def user_sign_out(request, username: str):
    """Sign a user out of every browser; the user can sign in again."""
    return _change_user(request, username, sign_ins.sign_out_everywhere)


@router.post("/operations/users/{username}/unlock", UserOut, 404, 409)
@needs("admin")
def user_unlock(request, username: str):
    """Unlock a user after too many wrong passwords, without the wait."""
    return _change_user(request, username, lockout.unlock)


@router.get("/operations/invitations", Page[InvitationOut], 409)
@needs("admin")
def invitation_list(request, filters: Query[PageQuery]):
    """Invitations, newest first, including used and revoked invitations."""
    return page_to_json(page_of(Invitation.objects.all(), order=NEWEST_FIRST, **filters.place))


@router.post("/operations/invitations", InvitationMade, 400, 409, summary="Invitation Create")
@needs("admin")
def invitation_make(request, response: HttpResponse, body: InvitationIn):
    """Create a link for a new person, who then chooses a name and a password."""
    invitation, path = invitations.invite(body.role, days=body.days, note=body.note, by=request.user.username)
    invitation.link = _build_secret_link(request, response, path)
    return invitation


@router.post("/operations/invitations/{invitation_id}/revoke", InvitationOut, 404, 409)
@needs("admin")
def invitation_revoke(request, invitation_id: str):
    """Revoke an unused invitation."""
    invitation = get_object_or_404(Invitation, id=invitation_id)
    invitations.revoke(invitation, by=request.user.username)
    invitation.refresh_from_db()
    return invitation


@router.get("/operations/tokens", Page[TokenOut], 409)
@needs("viewer")
def token_list(request, filters: Query[PageQuery]):
    """Your tokens, newest first; an admin sees the tokens of all users.

    Secrets are never shown again.
    """
    return page_to_json(page_of(accounts_tokens.visible_tokens(request.user), order=NEWEST_FIRST, **filters.place))


@router.post("/operations/tokens", TokenMade, 400, 409, summary="Token Create")
@needs("viewer")
def token_make(request, response: HttpResponse, body: TokenIn):
    """Create a token for your programs. Only a signed-in user can: a token cannot create tokens."""
    if request.user.role_limit:
        raise Refused(
            _("A token cannot create another token, which would outlive it. Sign in and create the token there.")
        )
    token, text = accounts_tokens.make_token(request.user, name=body.name, role=body.role, days=body.days)
    token.token = text
    response["Cache-Control"] = "no-store"
    return token


@router.post("/operations/tokens/{token_id}/revoke", TokenOut, 404, 409)
@needs("viewer")
def token_revoke(request, token_id: str):
    """Revoke one of your tokens; an admin can revoke any token."""
    token = get_object_or_404(accounts_tokens.visible_tokens(request.user), id=token_id)
    accounts_tokens.revoke_token(token, by=request.user.username)
    token.refresh_from_db()
    return token


def _change_user(request, username, change, **changes):
    user = get_object_or_404(User, username=username)
    change(user, **changes, by=request.user.username)
    return _user_to_json(user, is_locked=bool(lockout.locked_names([user.username])))


def _user_to_json(user, *, is_locked):
    return {"username": user.username, "role": user.role, "is_active": user.is_active, "is_locked": is_locked}


def _link_to_json(request, response, user, path):
    return {"username": user.username, "link": _build_secret_link(request, response, path)}


def _build_secret_link(request, response, path):
    response["Cache-Control"] = "no-store"  # neither caches nor idempotency keys keep it
    return request.build_absolute_uri(path)
