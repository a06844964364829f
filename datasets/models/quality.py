"""Answers of turns to signals, and how far each session was asked: numbers only, no words."""

from django.db import models

from openclaw_web.sqlite.fields import Count, EpochMs, Number, PlainText


class TurnSignals(models.Model):
    """The answers of one turn; bits are those of datasets.quality.all_signals. Derived from its records."""

    id = models.BigAutoField(primary_key=True)
    agent_id = PlainText()
    turn_id = PlainText()
    session_id = PlainText()
    turn_number = Count()
    at = EpochMs()
    yes = Count(help_text="bits of the signals that were answered yes")
    unknown = Count(help_text="bits of the signals without an answer")
    waiting = Count(default=0, help_text="those of the unknown ones that a later message may answer")
    score = Number(null=True, help_text="0 to 1; null: no signal has an answer")
    rule = Count(help_text="the version of the rules it follows: all_signals.RULE")
    mark = Count(help_text="checksum of the turns that its answers depend on")

    class Meta:
        db_table = "turn_signals"
        constraints = [models.UniqueConstraint(fields=["agent_id", "turn_id"], name="idx_turn_signals")]
        indexes = [models.Index(fields=["agent_id", "session_id", "turn_number"], name="idx_signals_place")]

    def __str__(self):
        return f"{self.agent_id} {self.turn_id}"


class SignalPosition(models.Model):
    """How far the turns of a session were asked; the row without a session stands for the whole file of the agent."""

    id = models.BigAutoField(primary_key=True)
    agent_id = PlainText()
    session_id = PlainText()
    position = PlainText(help_text="of the session's records, or the state of the agent's file; empty: begin anew")
    rules = Count(help_text="version of the rules: all_signals.RULE")
    consent = Count(help_text="checksum of those who opted out and of the weights in the settings")

    class Meta:
        db_table = "signal_positions"
        constraints = [models.UniqueConstraint(fields=["agent_id", "session_id"], name="idx_signal_position")]

    def __str__(self):
        return f"{self.agent_id} {self.session_id}".rstrip()
