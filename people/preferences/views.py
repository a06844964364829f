"""Views that change preferences, of an account or of a browser before sign-in."""

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import BadRequest
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from openclaw_web.pages.html import read_next_address, redirect_after_post
from openclaw_web.pages.roles import needs

from ..authentication.account_views import account_page
from . import choices, services
from .forms import LanguageForm, PreferencesForm, ThemeForm


@require_POST
@needs("viewer")
def preferences_save(request):
    """Save language, time zone and theme of one's account; answer in the new language."""
    form = PreferencesForm(request.POST)
    if not form.is_valid():
        return account_page(request, preferences=form)
    services.change_preferences(request.user, **form.cleaned_data)
    with translation.override(choices.choose_language(request, request.user)):
        return redirect_after_post(request, _("Preferences saved."), to=reverse("people:account"))


@require_POST
@login_not_required
def theme_set(request):
    """Set the theme of the account and of this browser.

    The switch in the head of every page calls it.
    """
    form = ThemeForm(request.POST)
    if not form.is_valid():
        raise BadRequest
    theme = form.cleaned_data["theme"]
    if request.user.is_authenticated:
        services.change_preferences(request.user, theme=theme)
    response = HttpResponse(status=204)
    choices.set_choice_cookie(response, choices.THEME_COOKIE, theme)
    return response


@require_POST
@login_not_required
def language_set(request):
    """Set the language of this browser, for pages before sign-in.

    The language of an account takes precedence.
    """
    form = LanguageForm(request.POST)
    if not form.is_valid():
        raise BadRequest
    response = redirect(read_next_address(request, reverse("people:sign_in")))
    choices.set_choice_cookie(response, settings.LANGUAGE_COOKIE_NAME, form.cleaned_data["language"])
    return response
