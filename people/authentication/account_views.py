"""The page of one's own account: password, preferences and browsers."""

from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from openclaw_web.lists.paging import page_of, read_cursors
from openclaw_web.pages import zones
from openclaw_web.pages.html import get_form_status, redirect_after_post
from openclaw_web.pages.roles import needs

from ..accounts import services as accounts
from ..preferences.forms import PreferencesForm
from ..preferences.services import PREFERENCES
from . import sign_ins
from .forms import PasswordForm

SIGN_INS_SHOWN = 20


@require_safe
@needs("viewer")
def account(request):
    """The person's own account, with the browsers they are signed in with."""
    return account_page(request)


@require_POST
@needs("viewer")
@sensitive_post_parameters("current", "password", "again")
def password_change(request):
    """Change the password. This browser remains signed in, all others are signed out."""
    form = PasswordForm(request.POST, request=request)
    if not form.is_valid():
        return account_page(request, password=form)
    accounts.change_password(request.user, form.cleaned_data["password"])
    sign_ins.keep_this_browser(request)
    message = _("The password is changed. All other browsers are signed out.")
    return redirect_after_post(request, message, to=reverse("people:account"))


@require_POST
@needs("viewer")
def sign_in_end(request, sign_in_id):
    """Sign out one of one's own browsers; this one goes to the sign-in page."""
    sign_in = get_object_or_404(request.user.sign_ins, id=sign_in_id)
    sign_ins.end_sign_in(sign_in, by=request.user.username)
    message = _("%(browser)s is signed out.") % {"browser": sign_in.browser}
    return redirect_after_post(request, message, to=reverse("people:account"))


@require_POST
@needs("viewer")
def sign_ins_end_others(request):
    """Sign out every other browser."""
    sign_ins.end_others(request)
    return redirect_after_post(request, _("All other browsers are signed out."), to=reverse("people:account"))


@require_POST
@needs("viewer")
def sign_out_everywhere(request):
    """Sign out every browser, including this one."""
    sign_ins.sign_out_everywhere(request.user, by=request.user.username)
    return redirect_after_post(request, _("You are signed out everywhere."), to=reverse("people:sign_in"))


def account_page(request, *, password=None, preferences=None):
    """Render the page of the account, with a form that has errors."""
    form = preferences or password
    rows = sign_ins.open_sign_ins(request.user)
    page = page_of(rows, order=("-created_at", "-id"), size=SIGN_INS_SHOWN, **read_cursors(request))
    person = {name: getattr(request.user, name) for name in PREFERENCES}
    context = {
        "form": password or PasswordForm(request=request),
        "preferences": preferences or PreferencesForm(initial=person),
        "zones": zones.list_zones(),
        "sign_ins": page,
        "this": request.session.get(sign_ins.SESSION_KEY),
    }
    return render(request, "people/account.html", context, status=get_form_status(form) if form else 200)
