"""Signing in and out, users, tokens."""

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import BadRequest
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from agents.decorators import needs
from openclaw_web.errors import Refused
from openclaw_web.html import after_post, refuse_post, safe_next
from openclaw_web.paging import page_of, places

from .. import accounts, lockout, sign_ins
from ..forms import NewAccountForm, RoleForm, SignInForm, TokenForm, UserForm, WelcomeForm
from ..models import ApiToken, User

require_form = require_http_methods(["GET", "HEAD", "POST"])


@require_form
@login_not_required
@never_cache
@sensitive_post_parameters("password")
def sign_in(request):
    """The sign-in page; goes on to `next`, when that is on this site."""
    target = safe_next(request, reverse("operations:overview"))
    if request.user.is_authenticated:
        return redirect(target)
    form = SignInForm(request, _posted(request))
    if form.is_valid():
        sign_ins.begin(request, form.get_user(), how="password")
        return redirect(target)
    if form.is_bound and "username" in form.cleaned_data:
        is_locked = getattr(request, "axes_locked_out", False)
        lockout.note_failed_sign_in(form.cleaned_data["username"], is_locked=is_locked)
    context = {"form": form, "next": target, "has_users": User.objects.exists()}
    return render(request, "operations/sign_in.html", context, status=_status(form))


@require_POST
@needs("viewer")
def sign_out(request):
    """Send this browser out."""
    sign_ins.sign_out(request)
    return redirect("operations:sign_in")


@require_form
@login_not_required
@never_cache
@sensitive_post_parameters("password", "again")
def one_time_link(request, token):
    """What a one-time link opens. Only the button uses it up: programs that look at links must not."""
    link = accounts.find_link(token)
    data = _posted(request)
    form = WelcomeForm(data, username=link.user.username) if link.user else NewAccountForm(data)
    if form.is_valid():
        person = _welcome(token, link, form.cleaned_data)
        sign_ins.begin(request, person, how="link" if link.user else "first_admin")
        return redirect("operations:overview")
    return render(request, "operations/welcome.html", {"form": form, "person": link.user}, status=_status(form))


def _welcome(token, link, data):
    if link.user:
        return accounts.sign_in_by_link(token, password=data["password"])
    return accounts.make_first_admin(token, username=data["username"], password=data["password"])


@require_safe
@needs("admin")
def user_list(request):
    """Everybody who may sign in, with a form for one more."""
    return _user_list(request, UserForm())


@require_POST
@needs("admin")
@never_cache
def user_add(request):
    """Add a person; shows the one-time link to hand over."""
    form = UserForm(request.POST)
    if not form.is_valid():
        return _user_list(request, form)
    try:
        person, path = accounts.add_user(**form.cleaned_data, by=request.user.username)
    except Refused as refused:
        form.add_error("username", refused.sentence)
        return _user_list(request, form)
    return _show_link(request, person, path)


@require_POST
@needs("admin")
@never_cache
def user_link(request, username):
    """Make another one-time link for a person and show it."""
    person = get_object_or_404(User, username=username)
    try:
        path = accounts.make_sign_in_link(person, by=request.user.username)
    except Refused as refused:
        return refuse_post(request, refused, to=reverse("operations:user_list"))
    return _show_link(request, person, path)


@require_POST
@needs("admin")
def user_role(request, username):
    """Give a person another role."""
    person, form = get_object_or_404(User, username=username), RoleForm(request.POST)
    if not form.is_valid():
        raise BadRequest
    try:
        accounts.change_role(person, form.cleaned_data["role"], by=request.user.username)
    except Refused as refused:
        return refuse_post(request, refused, to=reverse("operations:user_list"))
    said = _("%(name)s is now: %(role)s.") % {"name": person.username, "role": person.get_role_display()}
    return after_post(request, said, to=reverse("operations:user_list"))


@require_POST
@needs("admin")
def user_deactivate(request, username):
    """Lock a person out."""
    person = get_object_or_404(User, username=username)
    try:
        accounts.deactivate(person, by=request.user.username)
    except Refused as refused:
        return refuse_post(request, refused, to=reverse("operations:user_list"))
    said = _("%(name)s can no longer sign in; their tokens are dead.") % {"name": person.username}
    return after_post(request, said, to=reverse("operations:user_list"))


@require_POST
@needs("admin")
def user_activate(request, username):
    """Let a person in again."""
    person = get_object_or_404(User, username=username)
    accounts.activate(person, by=request.user.username)
    said = _("%(name)s can sign in again.") % {"name": person.username}
    return after_post(request, said, to=reverse("operations:user_list"))


@require_POST
@needs("admin")
def user_sign_out(request, username):
    """Send a person out of every browser; they may sign in again."""
    person = get_object_or_404(User, username=username)
    count = sign_ins.sign_out_everywhere(person, by=request.user.username)
    said = _("%(name)s is signed out everywhere (browsers: %(count)s).") % {"name": person.username, "count": count}
    return after_post(request, said, to=reverse("operations:user_list"))


@require_POST
@needs("admin")
def user_unlock(request, username):
    """Let a person try their password again after too many wrong ones."""
    person = get_object_or_404(User, username=username)
    lockout.unlock(person, by=request.user.username)
    said = _("%(name)s may try again at once.") % {"name": person.username}
    return after_post(request, said, to=reverse("operations:user_list"))


@require_safe
@needs("viewer")
def token_list(request):
    """A person's tokens (an admin: everybody's), with a form for one more."""
    return _token_list(request, TokenForm(owner=request.user))


@require_POST
@needs("viewer")
@never_cache
def token_make(request):
    """Make a token and show it, this once."""
    form = TokenForm(request.POST, owner=request.user)
    if not form.is_valid():
        return _token_list(request, form)
    token, text = accounts.make_token(request.user, **form.cleaned_data)
    return render(request, "operations/token_made.html", {"token": token, "text": text})


@require_POST
@needs("viewer")
def token_revoke(request, token_id):
    """End a token of one's own; an admin may end anybody's."""
    token = get_object_or_404(_visible_tokens(request.user), id=token_id)
    accounts.revoke_token(token, by=request.user.username)
    said = _("The token “%(name)s” no longer works.") % {"name": token.name}
    return after_post(request, said, to=reverse("operations:token_list"))


def _user_list(request, form):
    people = page_of(User.objects.all(), order=("username",), **places(request))
    locked = lockout.locked_names([person.username for person in people])
    context = {"people": people, "form": form, "roles": User.Role.choices, "locked": locked}
    return render(request, "operations/user_list.html", context, status=_status(form))


def _show_link(request, person, path):
    return render(request, "operations/link_made.html", {"person": person, "link": request.build_absolute_uri(path)})


def _token_list(request, form):
    tokens = page_of(_visible_tokens(request.user), order=("-created_at", "-id"), **places(request))
    context = {"tokens": tokens, "form": form, "sees_all": request.user.has_role("admin")}
    return render(request, "operations/token_list.html", context, status=_status(form))


def _visible_tokens(user):
    tokens = ApiToken.objects.select_related("user")
    return tokens if user.has_role("admin") else tokens.filter(user=user)


def _posted(request):
    return request.POST if request.method == "POST" else None


def _status(form):
    return 422 if form.is_bound else 200
