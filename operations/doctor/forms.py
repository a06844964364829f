"""Forms of the doctor's page."""

from django import forms
from django.utils.translation import gettext_lazy as _

from agents.models import Agent


class DoctorForm(forms.Form):
    """Options of a run of the doctor."""

    sources = forms.ChoiceField(
        label=_("Imported JSONL and JSON files"),
        choices=[
            ("keep", _("Keep them where they are")),
            ("archive", _("Move them into the backup folder")),
            ("remove", _("Remove them")),
        ],
        initial="keep",
        help_text=_("Files are moved or removed only once every line is stored and OpenClaw is stopped."),
    )
    include_deleted = forms.BooleanField(required=False)
    deep = forms.BooleanField(required=False)
    accept_losses = forms.BooleanField(required=False)


class AgainForm(forms.Form):
    """The scope of a repeated import: one session, one agent, or everything."""

    agent = forms.CharField(label=_("Agent"), required=False, max_length=56, help_text=_("Empty = all agents."))
    session = forms.CharField(
        label=_("Session"),
        required=False,
        max_length=200,
        help_text=_("Session id or key. Empty = all sessions of the agent."),
    )

    def clean_agent(self):
        agent = self.cleaned_data["agent"].strip()
        if agent and not Agent.objects.filter(agent_id=agent).exists():
            raise forms.ValidationError(_("There is no agent with this name here."))
        return agent

    def clean(self):
        data = super().clean()
        if data.get("session") and not data.get("agent") and not self.errors:
            self.add_error("agent", _("Enter the agent of this session."))
        return data


class UnignoreForm(forms.Form):
    """Undone sessions to allow again: `agent/session`, or the id of a run."""

    what = forms.CharField(max_length=500)
