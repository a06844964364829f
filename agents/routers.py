"""Which file a query goes to: decided by app, then by row, never guessed."""

from django.conf import settings


class NoAgentChosen(RuntimeError):
    """A query on an agent table did not say whose file it means."""


class AgentRouter:
    """Global apps go to `default`; agents' apps follow the row they start from, and otherwise raise."""

    def db_for_read(self, model, **hints):
        if model._meta.app_label not in settings.AGENT_APPS:
            return "default"
        if (instance := hints.get("instance")) and instance._state.db:
            return instance._state.db
        raise NoAgentChosen(f"Say whose: {model.__name__}.objects.using(agent.db)")

    db_for_write = db_for_read

    def allow_relation(self, one, other, **hints):
        return one._state.db == other._state.db

    def allow_migrate(self, db, app_label, **hints):
        return db.startswith("agent_") == (app_label in settings.AGENT_APPS)
