"""Forms for preferences."""

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from openclaw_web.pages import zones

from .choices import LANGUAGES, THEMES


class PreferencesForm(forms.Form):
    """Language, time zone and theme of an account."""

    language = forms.ChoiceField(label=_("Language"), choices=LANGUAGES, required=False)
    time_zone = forms.CharField(
        label=_("Time zone"),
        required=False,
        max_length=64,
        help_text=_("Leave empty to use the browser's."),
        widget=forms.TextInput(attrs={"list": "zones", "autocomplete": "off", "spellcheck": "false"}),
    )
    theme = forms.ChoiceField(label=_("Theme"), choices=THEMES, required=False)

    def clean_time_zone(self):
        zone_name = self.cleaned_data["time_zone"]
        if zone_name and not (zone_name := zones.find_zone_name(zone_name)):
            raise ValidationError(_("There is no such time zone. Choose one from the list, such as Asia/Shanghai."))
        return zone_name


class ThemeForm(forms.Form):
    """The theme alone, as sent by the switch in the head of a page."""

    theme = forms.ChoiceField(choices=THEMES, required=False)


class LanguageForm(forms.Form):
    """The language alone, before sign-in."""

    language = forms.ChoiceField(choices=LANGUAGES[1:])
