"""What an operator tunes."""

from django.http import Http404
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from openclaw_web.errors import Refused
from openclaw_web.pages.doors import needs
from openclaw_web.pages.html import after_post

from . import keys as configuration
from .forms import SettingForm


@require_safe
@needs("admin")
def settings(request):
    """Every setting with its value, each in a form of its own."""
    return _settings(request, _forms())


@require_POST
@needs("admin")
def setting_save(request, key):
    """Set one setting; a value that does not fit comes back with the reason."""
    if key not in configuration.KEYS:
        raise Http404
    form = _form(key, configuration.get(key), request.POST)
    if form.is_valid() and _put(form, request.user.username):
        return after_post(request, _("%(key)s is saved.") % {"key": key}, to=reverse("people:settings"))
    forms = [form if other.key == key else other for other in _forms()]
    return _settings(request, forms, status=422)


def _forms():
    values = configuration.several(*configuration.KEYS)
    return [_form(key, value) for key, value in values.items()]


def _form(key, current, data=None):
    return SettingForm(data, key=key, known=configuration.KEYS[key], current=current)


def _put(form, by):
    try:
        configuration.put(form.key, form.cleaned_data["value"], by=by)
    except Refused as refused:
        form.add_error("value", refused.sentence)
    return not form.errors


def _settings(request, forms, *, status=200):
    return render(request, "people/settings.html", {"forms": forms}, status=status)
