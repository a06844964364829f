"""Users and their roles."""

from functools import partial

from django.core.exceptions import BadRequest
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from openclaw_web.errors import Refused
from openclaw_web.lists.paging import page_of, read_cursors
from openclaw_web.pages.html import get_form_status, redirect_after_post, refuse_post
from openclaw_web.pages.roles import needs

from ..authentication import lockout, sign_ins
from ..models import User
from . import services as accounts
from .forms import RoleForm, UserForm


@require_safe
@needs("admin")
def user_list(request):
    """All users, with a form for another one."""
    return _render_user_list(request, UserForm())


@require_POST
@needs("admin")
@never_cache
def user_add(request):
    """Create a user, and show the one-time link to hand over."""
    form = UserForm(request.POST)
    if not form.is_valid():
        return _render_user_list(request, form)
    try:
        person, path = accounts.add_user(**form.cleaned_data, by=request.user.username)
    except Refused as refused:
        form.add_error("username", refused.sentence)
        return _render_user_list(request, form)
    return _show_link(request, person, path)


@require_POST
@needs("admin")
@never_cache
def user_link(request, username):
    """Create another one-time link for a user, and show it."""
    person = get_object_or_404(User, username=username)
    try:
        path = accounts.make_sign_in_link(person, by=request.user.username)
    except Refused as refused:
        return refuse_post(request, refused, to=reverse("people:user_list"))
    return _show_link(request, person, path)


@require_POST
@needs("admin")
def user_role(request, username):
    """Change the role of a user."""
    form = RoleForm(request.POST)
    if not form.is_valid():
        raise BadRequest
    change = partial(accounts.change_role, role=form.cleaned_data["role"])
    return _change_user(request, username, change, _("The role of %(name)s is now %(role)s."))


@require_POST
@needs("admin")
def user_deactivate(request, username):
    """Deactivate a user."""
    message = _("%(name)s can no longer sign in; their tokens no longer work.")
    return _change_user(request, username, accounts.deactivate, message)


@require_POST
@needs("admin")
def user_activate(request, username):
    """Activate a user again."""
    return _change_user(request, username, accounts.activate, _("%(name)s can sign in again."))


@require_POST
@needs("admin")
def user_sign_out(request, username):
    """Sign a user out of every browser."""
    message = _("%(name)s is signed out everywhere (browsers: %(count)s).")
    return _change_user(request, username, sign_ins.sign_out_everywhere, message)


@require_POST
@needs("admin")
def user_unlock(request, username):
    """Unlock a user after too many wrong passwords."""
    return _change_user(request, username, lockout.unlock, _("%(name)s can try to sign in again now."))


def _change_user(request, username, change, message):
    """Change a user and return to the list, which shows the result or the refusal."""
    person = get_object_or_404(User, username=username)
    try:
        count = change(person, by=request.user.username)
    except Refused as refused:
        return refuse_post(request, refused, to=reverse("people:user_list"))
    words = message % {"name": person.username, "role": person.get_role_display(), "count": count}
    return redirect_after_post(request, words, to=reverse("people:user_list"))


def _render_user_list(request, form):
    people = page_of(User.objects.all(), order=("username",), **read_cursors(request))
    locked = lockout.locked_names([person.username for person in people])
    context = {"people": people, "form": form, "roles": User.Role.choices, "locked": locked}
    return render(request, "people/user_list.html", context, status=get_form_status(form))


def _show_link(request, person, path):
    return render(request, "people/link_made.html", {"person": person, "link": request.build_absolute_uri(path)})
