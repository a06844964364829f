"""Forms for users, invitations and tokens."""

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from ..models import User
from . import services as accounts

NAME = forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none", "spellcheck": "false"})
NEW_PASSWORD = forms.PasswordInput(attrs={"autocomplete": "new-password"})


class NewAccountForm(forms.Form):
    """Name and password of a new account, chosen by its owner."""

    username = forms.CharField(label=_("User name"), max_length=150, validators=[accounts.check_name_fits], widget=NAME)
    password = forms.CharField(
        label=_("Password"), strip=False, widget=NEW_PASSWORD, help_text=_("At least 10 characters, not only digits.")
    )
    again = forms.CharField(label=_("Repeat password"), strip=False, widget=NEW_PASSWORD)

    def clean(self):
        check_new_password(self, self.cleaned_data.get("username", ""))
        return self.cleaned_data


class InvitationForm(forms.Form):
    """An invitation: the role of the person, and how long the link works."""

    role = forms.ChoiceField(label=_("Role"), choices=User.Role.choices)
    days = forms.TypedChoiceField(
        label=_("Link valid for"),
        choices=[(1, _("1 day")), (7, _("7 days")), (30, _("30 days"))],
        coerce=int,
        initial=7,
    )
    note = forms.CharField(
        label=_("Recipient"),
        max_length=100,
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )


class UserForm(forms.Form):
    """Name and role of a new person."""

    username = forms.CharField(
        label=_("User name"),
        max_length=150,
        validators=[accounts.check_name_fits],
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    role = forms.ChoiceField(label=_("Role"), choices=User.Role.choices)


class RoleForm(forms.Form):
    """A new role for a person."""

    role = forms.ChoiceField(label=_("Role"), choices=User.Role.choices)


class TokenForm(forms.Form):
    """A new token: its purpose, its role and how long it works."""

    name = forms.CharField(label=_("Purpose"), max_length=100, widget=forms.TextInput(attrs={"autocomplete": "off"}))
    role = forms.ChoiceField(
        label=_("Role"), help_text=_("The token can do what this role can, but never more than you.")
    )
    days = forms.TypedChoiceField(
        label=_("Valid for"),
        choices=[(30, _("30 days")), (90, _("90 days")), (365, _("1 year")), (0, _("No limit, until revoked"))],
        coerce=int,
        initial=90,
    )

    def __init__(self, *args, owner, **kwargs):
        super().__init__(*args, **kwargs)
        self.fields["role"].choices = [choice for choice in User.Role.choices if owner.has_role(choice[0])]


def check_new_password(form, username):
    """Add errors to a form whose new password is weak, or was repeated differently."""
    password = form.cleaned_data.get("password")
    if not password:
        return
    if password != form.cleaned_data.get("again"):
        form.add_error("again", _("The passwords do not match."))
    try:
        accounts.check_password_fits(password, username=username)
    except ValidationError as exc:
        form.add_error("password", exc)
