"""Form fields of settings, by the word in `Setting.field`.

Each formats a value for the page and reads it back.
"""

from django import forms
from django.utils.translation import gettext

from openclaw_web.pages.formatting import listed

from .catalogue import SECRET_KINDS
from .setting import DAILY, Setting


class Field(forms.Field):
    """Base class of the fields of settings.

    Most are not required, because an empty value has a meaning of its own.
    """

    must_be_filled = False

    def __init__(self, setting: Setting, **more):
        super().__init__(label=setting.label, help_text=setting.help, required=self.must_be_filled, **more)
        self.known = setting

    def in_words(self, value):
        """A value in words, for the default on the page."""
        return str(value)

    def plain(self, value):
        """A value as this field returns it when it was not edited."""
        return self.clean(self.prepare_value(value))


class Switch(Field, forms.BooleanField):
    widget = forms.CheckboxInput(attrs={"role": "switch"})

    def in_words(self, value):
        return gettext("on") if value else gettext("off")


class Number(Field, forms.IntegerField):
    must_be_filled = True

    def __init__(self, setting):
        super().__init__(setting, error_messages=dict.fromkeys(("required", "invalid"), setting.refusal(setting.label)))
        self.widget.attrs |= {"min": setting.least, "max": setting.most}


class Fraction(Field, forms.FloatField):
    must_be_filled = True

    def __init__(self, setting):
        super().__init__(setting, error_messages=dict.fromkeys(("required", "invalid"), setting.refusal(setting.label)))
        self.widget.attrs |= {"min": setting.least, "max": setting.most, "step": "0.01"}


class Line(Field, forms.CharField):
    widget = forms.TextInput(attrs={"spellcheck": "false"})


class Text(Field, forms.CharField):
    widget = forms.Textarea(attrs={"rows": 3})

    def clean(self, value):
        return "\n".join(super().clean(value).splitlines())


class Lines(Field, forms.CharField):
    widget = forms.Textarea(attrs={"rows": 3, "spellcheck": "false"})

    def prepare_value(self, value):
        return "\n".join(value) if isinstance(value, list) else value

    def clean(self, value):
        return [line.strip() for line in super().clean(value).splitlines() if line.strip()]

    def in_words(self, value):
        return listed(value)


class Choices(Field, forms.MultipleChoiceField):
    widget = forms.CheckboxSelectMultiple

    def __init__(self, setting):
        super().__init__(setting, choices=SECRET_KINDS.items())

    def clean(self, value):
        chosen = super().clean(value)
        return [kind for kind in SECRET_KINDS if kind in chosen]

    def in_words(self, value):
        return gettext("all") if len(value) == len(SECRET_KINDS) else listed(str(SECRET_KINDS[kind]) for kind in value)


class TimeOfDay(Field, forms.TimeField):
    """A time of the day, stored as a cron expression."""

    widget = forms.TimeInput(attrs={"type": "time"})
    must_be_filled = True

    def prepare_value(self, value):
        match = DAILY.fullmatch(value or "")
        return f"{int(match[2]):02}:{int(match[1]):02}" if match else value

    def clean(self, value):
        time = super().clean(value)
        return f"{time.minute} {time.hour} * * *"

    def in_words(self, value):
        return self.prepare_value(value)


FIELDS = {
    "switch": Switch,
    "number": Number,
    "fraction": Fraction,
    "choices": Choices,
    "lines": Lines,
    "line": Line,
    "text": Text,
    "time": TimeOfDay,
}
