"""The page of the settings."""

from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from openclaw_web.pages.formatting import listed
from openclaw_web.pages.html import redirect_after_post
from openclaw_web.pages.roles import needs
from openclaw_web.sentences import join_sentences

from . import setting_values as configuration
from .forms import SettingsForm


@require_safe
@needs("admin")
def settings(request):
    """Every setting with its value, in one form."""
    return _render_settings(request, SettingsForm(values=_read_values()))


@require_POST
@needs("admin")
def settings_save(request):
    """Save the settings that were edited; when a value does not fit, save nothing.

    The page then shows the reason.
    """
    form = SettingsForm(request.POST, values=_read_values())
    if not form.is_valid():
        return _render_settings(request, form, status=422)
    changed = form.changed()
    configuration.put_all(changed, by=request.user.username)
    page = reverse("people:settings")
    if not changed:
        return redirect_after_post(request, _("Nothing was changed."), to=page)
    keys = [configuration.KEYS[key] for key in changed]
    names = listed(str(key.label) for key in keys)
    words = [_("Saved: %(names)s.") % {"names": names}, *(str(key.after) for key in keys if key.after)]
    return redirect_after_post(request, join_sentences(words), to=f"{page}#{next(iter(changed))}")


def _read_values():
    return configuration.get_many(*configuration.KEYS)


def _render_settings(request, form, *, status=200):
    return render(request, "people/settings.html", {"form": form}, status=status)
