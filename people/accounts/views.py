"""Users and their roles."""

from django.core.exceptions import BadRequest
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from openclaw_web.errors import Refused
from openclaw_web.lists.paging import page_of, places
from openclaw_web.pages.doors import needs
from openclaw_web.pages.html import after_post, refuse_post, status_of

from ..models import User
from ..signing_in import lockout, sign_ins
from . import services as accounts
from .forms import RoleForm, UserForm


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
        return refuse_post(request, refused, to=reverse("people:user_list"))
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
        return refuse_post(request, refused, to=reverse("people:user_list"))
    said = _("The role of %(name)s is now %(role)s.") % {"name": person.username, "role": person.get_role_display()}
    return after_post(request, said, to=reverse("people:user_list"))


@require_POST
@needs("admin")
def user_deactivate(request, username):
    """Lock a person out."""
    person = get_object_or_404(User, username=username)
    try:
        accounts.deactivate(person, by=request.user.username)
    except Refused as refused:
        return refuse_post(request, refused, to=reverse("people:user_list"))
    said = _("%(name)s can no longer sign in; their tokens no longer work.") % {"name": person.username}
    return after_post(request, said, to=reverse("people:user_list"))


@require_POST
@needs("admin")
def user_activate(request, username):
    """Let a person in again."""
    person = get_object_or_404(User, username=username)
    accounts.activate(person, by=request.user.username)
    said = _("%(name)s can sign in again.") % {"name": person.username}
    return after_post(request, said, to=reverse("people:user_list"))


@require_POST
@needs("admin")
def user_sign_out(request, username):
    """Send a person out of every browser; they may sign in again."""
    person = get_object_or_404(User, username=username)
    count = sign_ins.sign_out_everywhere(person, by=request.user.username)
    said = _("%(name)s is signed out everywhere (browsers: %(count)s).") % {"name": person.username, "count": count}
    return after_post(request, said, to=reverse("people:user_list"))


@require_POST
@needs("admin")
def user_unlock(request, username):
    """Let a person try their password again after too many wrong ones."""
    person = get_object_or_404(User, username=username)
    lockout.unlock(person, by=request.user.username)
    said = _("%(name)s can try to sign in again now.") % {"name": person.username}
    return after_post(request, said, to=reverse("people:user_list"))


def _user_list(request, form):
    people = page_of(User.objects.all(), order=("username",), **places(request))
    locked = lockout.locked_names([person.username for person in people])
    context = {"people": people, "form": form, "roles": User.Role.choices, "locked": locked}
    return render(request, "people/user_list.html", context, status=status_of(form))


def _show_link(request, person, path):
    return render(request, "people/link_made.html", {"person": person, "link": request.build_absolute_uri(path)})
