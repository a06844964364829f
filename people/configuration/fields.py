"""The fields of settings, by the word in `Setting.field`: each spells a value for the page and reads it back."""

from django import forms
from django.utils.translation import gettext

from openclaw_web.pages.formatting import listed

from .catalogue import SECRET_KINDS
from .setting import DAILY, Setting


class Field(forms.Field):
    """What fields of settings have in common; most are not required, for an empty one says something of its own."""

    must_be_filled = False

    def __init__(self, known: Setting, **more):
        super().__init__(label=known.label, help_text=known.help, required=self.must_be_filled, **more)
        self.known = known

    def in_words(self, value):
        """A value, as the page tells the default."""
        return str(value)

    def plain(self, value):
        """A value as this field gives it back when nobody touches it."""
        return self.clean(self.prepare_value(value))


class Switch(Field, forms.BooleanField):
    widget = forms.CheckboxInput(attrs={"role": "switch"})

    def in_words(self, value):
        return gettext("on") if value else gettext("off")


class Number(Field, forms.IntegerField):
    must_be_filled = True

    def __init__(self, known):
        super().__init__(known, error_messages=dict.fromkeys(("required", "invalid"), known.refusal(known.label)))
        self.widget.attrs |= {"min": known.least, "max": known.most}


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

    def __init__(self, known):
        super().__init__(known, choices=SECRET_KINDS.items())

    def clean(self, value):
        chosen = super().clean(value)
        return [kind for kind in SECRET_KINDS if kind in chosen]

    def in_words(self, value):
        return gettext("all") if len(value) == len(SECRET_KINDS) else listed(str(SECRET_KINDS[kind]) for kind in value)


class TimeOfDay(Field, forms.TimeField):
    """Kept as a cron expression."""

    widget = forms.TimeInput(attrs={"type": "time"})
    must_be_filled = True

    def prepare_value(self, value):
        found = DAILY.fullmatch(value or "")
        return f"{int(found[2]):02}:{int(found[1]):02}" if found else value

    def clean(self, value):
        time = super().clean(value)
        return f"{time.minute} {time.hour} * * *"

    def in_words(self, value):
        return self.prepare_value(value)


FIELDS = {
    "switch": Switch,
    "number": Number,
    "choices": Choices,
    "lines": Lines,
    "line": Line,
    "text": Text,
    "time": TimeOfDay,
}
