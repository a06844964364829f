"""What people type into the pages about accounts and settings, as values."""

import orjson
from django import forms
from django.conf import settings
from django.contrib.auth import authenticate
from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import ValidationError
from django.http import QueryDict
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from agents.models import Agent
from agents.saved_views import LONGEST_NAME
from openclaw_web.errors import Refused

from . import accounts, clearing
from .models import User

NAME = forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none", "spellcheck": "false"})
NEW_PASSWORD = forms.PasswordInput(attrs={"autocomplete": "new-password"})


class SignInForm(AuthenticationForm):
    """User name and password; failures are counted."""

    error_messages = {
        **AuthenticationForm.error_messages,
        "invalid_login": _("This user name and password do not belong together. Mind upper and lower case."),
    }

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.fields["username"].label = _("User name")


class NewAccountForm(forms.Form):
    """What somebody chooses who makes their own account."""

    username = forms.CharField(label=_("User name"), max_length=150, validators=[accounts.check_name_fits], widget=NAME)
    password = forms.CharField(
        label=_("Password"), strip=False, widget=NEW_PASSWORD, help_text=_("At least 10 characters, not only digits.")
    )
    again = forms.CharField(label=_("The same password again"), strip=False, widget=NEW_PASSWORD)

    def clean(self):
        _check_new_password(self, self.cleaned_data.get("username", ""))
        return self.cleaned_data


class WelcomeForm(forms.Form):
    """What a person may set while a one-time link signs them in."""

    password = forms.CharField(
        label=_("New password"),
        required=False,
        strip=False,
        widget=NEW_PASSWORD,
        help_text=_("At least 10 characters. Without one, the next time needs another link or the password you have."),
    )
    again = forms.CharField(label=_("The same password again"), required=False, strip=False, widget=NEW_PASSWORD)

    def __init__(self, *args, username, **kwargs):
        super().__init__(*args, **kwargs)
        self.username = username

    def clean(self):
        if self.cleaned_data.get("password") or self.cleaned_data.get("again"):
            _check_new_password(self, self.username)
        return self.cleaned_data


class PasswordForm(forms.Form):
    """Another password for somebody who is signed in; the one they have is asked, when they have one."""

    current = forms.CharField(
        label=_("Current password"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )
    password = forms.CharField(
        label=_("New password"),
        strip=False,
        widget=NEW_PASSWORD,
        help_text=_("At least 10 characters, not only digits."),
    )
    again = forms.CharField(label=_("The same password again"), strip=False, widget=NEW_PASSWORD)

    def __init__(self, *args, request, **kwargs):
        super().__init__(*args, **kwargs)
        self.request = request
        if not request.user.has_usable_password():
            del self.fields["current"]

    def clean_current(self):
        # Through the backends, so that wrong ones are counted as at sign-in.
        name, current = self.request.user.get_username(), self.cleaned_data["current"]
        if authenticate(self.request, username=name, password=current) is None:
            raise ValidationError(_("This is not your password."))
        return current

    def clean(self):
        _check_new_password(self, self.request.user.get_username())
        return self.cleaned_data


class InvitationForm(forms.Form):
    """An invitation: what the person may do, and how long the link works."""

    role = forms.ChoiceField(label=_("Role"), choices=User.Role.choices)
    days = forms.TypedChoiceField(
        label=_("The link works for"),
        choices=[(1, _("1 day")), (7, _("7 days")), (30, _("30 days"))],
        coerce=int,
        initial=7,
    )
    note = forms.CharField(
        label=_("Whom it is for"),
        max_length=100,
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )


class UserForm(forms.Form):
    """A new person."""

    username = forms.CharField(
        label=_("User name"),
        max_length=150,
        validators=[accounts.check_name_fits],
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    role = forms.ChoiceField(label=_("Role"), choices=User.Role.choices)


class RoleForm(forms.Form):
    """Another role for a person."""

    role = forms.ChoiceField(label=_("Role"), choices=User.Role.choices)


class TokenForm(forms.Form):
    """A new token: what it is for, and what it may do."""

    name = forms.CharField(
        label=_("What it is for"), max_length=100, widget=forms.TextInput(attrs={"autocomplete": "off"})
    )
    role = forms.ChoiceField(label=_("Role"), help_text=_("It can do what this role can, and never more than you."))
    days = forms.TypedChoiceField(
        label=_("It works for"),
        choices=[(30, _("30 days")), (90, _("90 days")), (365, _("a year")), (0, _("ever, until it is revoked"))],
        coerce=int,
        initial=90,
    )

    def __init__(self, *args, owner, **kwargs):
        super().__init__(*args, **kwargs)
        self.fields["role"].choices = [choice for choice in User.Role.choices if owner.has_role(choice[0])]


class SettingForm(forms.Form):
    """One setting, in the field that fits its default: a text per line for a list, a text, a switch, a number."""

    value = forms.CharField(max_length=100_000, widget=forms.Textarea(attrs={"spellcheck": "false"}))

    def __init__(self, data=None, *, key, known, current):
        self.key, self.kind = key, type(known.default)
        super().__init__(data, initial={"value": self._written(current)}, auto_id=f"{key}-%s")
        field = self.fields["value"]
        field.label, field.required = key, self.kind not in (list, str)
        field.help_text = " ".join(map(str, self._help(known, current)))
        field.widget = self._widget()

    def _widget(self):
        if self.kind is bool:
            return forms.Select(choices=[("true", _("on")), ("false", _("off"))])
        if self.kind is int:
            return forms.NumberInput()
        return forms.Textarea(attrs={"spellcheck": "false", "rows": 1 + 2 * (self.kind is list)})

    def _help(self, known, current):
        yield known.help
        if self.kind is list:
            yield _("One per line.")
        if current != known.default and known.default not in ("", []):
            yield _("The default is %(value)s.") % {"value": self._written(known.default).replace("\n", ", ")}

    def _written(self, value):
        if self.kind is list:
            return "\n".join(value)
        return value if self.kind is str else orjson.dumps(value).decode()

    def clean_value(self):
        text = self.cleaned_data["value"]
        if self.kind is list:
            return [line.strip() for line in text.splitlines() if line.strip()]
        if self.kind is str:
            return text
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError as exc:
            raise ValidationError(_("This is not JSON: %(problem)s.") % {"problem": exc}) from exc


def _check_new_password(form, username):
    password = form.cleaned_data.get("password")
    if not password:
        return
    if password != form.cleaned_data.get("again"):
        form.add_error("again", _("The two passwords differ."))
    try:
        accounts.check_password_fits(password, username=username)
    except ValidationError as exc:
        form.add_error("password", exc)


class AgeField(forms.CharField):
    """An age like 30d, as seconds."""

    def clean(self, value):
        try:
            return clearing.seconds(super().clean(value) or "0s")
        except clearing.WrongAge as wrong:
            raise ValidationError(wrong.sentence) from wrong


class ClearingForm(forms.Form):
    """What a clearing of the artifact store may take."""

    older_than = AgeField(
        label=_("Only what was stashed longer ago than"),
        required=False,
        max_length=12,
        initial="30d",
        help_text=_("90s, 30m, 12h, 7d or 2w."),
    )
    is_dry_run = forms.BooleanField(required=False)


class DoctorForm(forms.Form):
    """What a run of the doctor may do."""

    sources = forms.ChoiceField(
        label=_("Imported JSONL and JSON files"),
        choices=[
            ("keep", _("Keep them where they are")),
            ("archive", _("Move them into the backup folder")),
            ("remove", _("Remove them")),
        ],
        initial="keep",
        help_text=_("Files move or go only when every line of them is in the store and OpenClaw is not running."),
    )
    include_deleted = forms.BooleanField(required=False)
    deep = forms.BooleanField(required=False)
    accept_losses = forms.BooleanField(required=False)


class AgainForm(forms.Form):
    """What is to be imported again: a session of an agent, all of one agent, or everything."""

    agent = forms.CharField(label=_("Agent"), required=False, max_length=56, help_text=_("Empty: all agents."))
    session = forms.CharField(
        label=_("Session"), required=False, max_length=200, help_text=_("Its id or key. Empty: all of the agent.")
    )

    def clean_agent(self):
        agent = self.cleaned_data["agent"].strip()
        if agent and not Agent.objects.filter(agent_id=agent).exists():
            raise forms.ValidationError(_("There is no agent of this name here."))
        return agent

    def clean(self):
        found = super().clean()
        if found.get("session") and not found.get("agent") and not self.errors:
            self.add_error("agent", _("Name the agent of this session."))
        return found


class UnignoreForm(forms.Form):
    """What undone sessions are let in again: `agent/session`, or the id of a run."""

    what = forms.CharField(max_length=500)


class RetentionForm(forms.Form):
    """How long without activity makes a session old."""

    days = forms.IntegerField(
        label=_("Sessions without activity for so many days"),
        min_value=1,
        max_value=36_500,
        initial=365,
        help_text=_("365 is a year. What samples and decisions need stays in any case."),
    )


class KeptViewForm(forms.Form):
    """A view of a list that somebody keeps or removes."""

    on = forms.ChoiceField(choices=[(name, name) for name in settings.LISTS])
    name = forms.CharField(max_length=LONGEST_NAME)
    query = forms.CharField(required=False, max_length=8_000)

    def asked(self):
        """`on`, `name`, `query`: of the address only what is a filter. Raises Refused for another list or address."""
        if not self.is_valid():
            raise Refused(_now("Give the view a name of at most %(most)s characters.") % {"most": LONGEST_NAME})
        asked = self.cleaned_data
        filters = import_string(settings.LISTS[asked["on"]])
        return asked | {"query": filters(QueryDict(asked["query"].removeprefix("?"))).checked().query}
