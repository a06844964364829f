"""Views to sign in and out, and of one-time links."""

from django.contrib.auth.decorators import login_not_required
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from openclaw_web.pages.html import get_form_status, read_next_address
from openclaw_web.pages.roles import needs

from ..accounts import services as accounts
from ..accounts.forms import NewAccountForm
from ..models import User
from . import links, lockout, return_address, sign_ins
from .forms import SignInForm, WelcomeForm

require_form = require_http_methods(["GET", "HEAD", "POST"])


@require_form
@login_not_required
@never_cache
@sensitive_post_parameters("password")
def sign_in(request):
    """The sign-in page, which continues to `next` if that is on this site."""
    target = return_address.page_address(read_next_address(request, reverse("overview:overview")))
    if request.user.is_authenticated:
        return redirect(target)
    form = SignInForm(request, _get_posted(request))
    if form.is_valid():
        sign_ins.begin_sign_in(request, form.get_user(), how="password")
        return redirect(target)
    if form.is_bound and "username" in form.cleaned_data:
        is_locked = getattr(request, "axes_locked_out", False)
        lockout.note_failed_sign_in(form.cleaned_data["username"], is_locked=is_locked)
    context = {"form": form, "next": target, "has_users": User.objects.exists()}
    return render(request, "people/sign_in.html", context, status=get_form_status(form))


@require_POST
@needs("viewer")
def sign_out(request):
    """Sign this browser out."""
    sign_ins.sign_out(request)
    return redirect("people:sign_in")


@require_form
@login_not_required
@never_cache
@sensitive_post_parameters("password", "again")
def one_time_link(request, token):
    """The page of a one-time link. Only its button uses the link up.

    Programs that preview links must not use them up.
    """
    link = links.find_link(token)
    data = _get_posted(request)
    form = WelcomeForm(data, username=link.user.username) if link.user else NewAccountForm(data)
    if form.is_valid():
        fields = form.cleaned_data
        if link.user:
            person = accounts.sign_in_by_link(token, password=fields["password"])
        else:
            person = accounts.make_first_admin(token, username=fields["username"], password=fields["password"])
        sign_ins.begin_sign_in(request, person, how="link" if link.user else "first_admin")
        return redirect("overview:overview")
    return render(
        request, "people/one_time_link.html", {"form": form, "person": link.user}, status=get_form_status(form)
    )


def _get_posted(request):
    return request.POST if request.method == "POST" else None
