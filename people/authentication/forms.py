"""Forms for signing in and for passwords."""

from django import forms
from django.contrib.auth import authenticate
from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from ..accounts.forms import NEW_PASSWORD, check_new_password


class SignInForm(AuthenticationForm):
    """User name and password; failures are counted."""

    error_messages = {
        **AuthenticationForm.error_messages,
        "invalid_login": _("Wrong user name or password."),
    }

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.fields["username"].label = _("User name")


class WelcomeForm(forms.Form):
    """An optional new password, set while a one-time link signs a person in."""

    password = forms.CharField(
        label=_("New password"),
        required=False,
        strip=False,
        widget=NEW_PASSWORD,
        help_text=_(
            "At least 10 characters. Leave empty to sign in next time with another link or your current password."
        ),
    )
    again = forms.CharField(label=_("Repeat password"), required=False, strip=False, widget=NEW_PASSWORD)

    def __init__(self, *args, username, **kwargs):
        super().__init__(*args, **kwargs)
        self.username = username

    def clean(self):
        if self.cleaned_data.get("password") or self.cleaned_data.get("again"):
            check_new_password(self, self.username)
        return self.cleaned_data


class PasswordForm(forms.Form):
    """A new password for a person who is signed in.

    The current password is required if there is one.
    """

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
    again = forms.CharField(label=_("Repeat password"), strip=False, widget=NEW_PASSWORD)

    def __init__(self, *args, request, **kwargs):
        super().__init__(*args, **kwargs)
        self.request = request
        if not request.user.has_usable_password():
            del self.fields["current"]

    def clean_current(self):
        # Checked by the backends, so that wrong passwords are counted as at sign-in.
        name, current = self.request.user.get_username(), self.cleaned_data["current"]
        if authenticate(self.request, username=name, password=current) is None:
            raise ValidationError(_("The current password is wrong."))
        return current

    def clean(self):
        check_new_password(self, self.request.user.get_username())
        return self.cleaned_data
