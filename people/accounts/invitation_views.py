"""Invitations: the list for admins, and the page that a link opens."""

from django.contrib.auth.decorators import login_not_required
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from openclaw_web.errors import Refused
from openclaw_web.lists.paging import page_of, read_cursors
from openclaw_web.pages.html import get_form_status, redirect_after_post
from openclaw_web.pages.roles import needs

from ..authentication import sign_ins
from ..models import Invitation
from . import invitations
from .forms import InvitationForm, NewAccountForm


@require_http_methods(["GET", "HEAD", "POST"])
@login_not_required
@never_cache
@sensitive_post_parameters("password", "again")
def join(request, token):
    """The page of an invitation, where a person chooses a name and a password.

    Only its button uses the invitation up.
    """
    invitation = invitations.find_invitation(token)
    form = NewAccountForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        name, password = form.cleaned_data["username"], form.cleaned_data["password"]
        try:
            person = invitations.accept(token, username=name, password=password)
        except Refused as refused:
            form.add_error("username", refused.sentence)
        else:
            sign_ins.begin_sign_in(request, person, how="invitation")
            return redirect("overview:overview")
    context = {"form": form, "invitation": invitation}
    return render(request, "people/join.html", context, status=get_form_status(form))


@require_safe
@needs("admin")
def invitation_list(request):
    """The invitations that can still be used, with a form for another one."""
    return _render_list(request, InvitationForm())


@require_POST
@needs("admin")
@never_cache
def invitation_make(request):
    """Create an invitation, and show its link once."""
    form = InvitationForm(request.POST)
    if not form.is_valid():
        return _render_list(request, form)
    invitation, path = invitations.invite(**form.cleaned_data, by=request.user.username)
    context = {"invitation": invitation, "link": request.build_absolute_uri(path)}
    return render(request, "people/invitation_made.html", context)


@require_POST
@needs("admin")
def invitation_revoke(request, invitation_id):
    """Revoke an invitation."""
    invitation = get_object_or_404(Invitation, id=invitation_id)
    invitations.revoke(invitation, by=request.user.username)
    return redirect_after_post(request, _("Invitation revoked."), to=reverse("people:invitation_list"))


def _render_list(request, form):
    page = page_of(invitations.open_invitations(), order=("-created_at", "-id"), **read_cursors(request))
    context = {"invitations": page, "form": form}
    return render(request, "people/invitation_list.html", context, status=get_form_status(form))
