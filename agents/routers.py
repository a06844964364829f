"""The database router: decides by app, then by row, which file a query goes to."""

from django.conf import settings


class NoAgentChosen(RuntimeError):
    """A query on an agent table did not name a file."""


class AgentRouter:
    """Sends global apps to `default`, and agents' apps to the file of their row.

    Raises NoAgentChosen for a query on an agent table that starts from no row.
    """

    def db_for_read(self, model, **hints):
        if model._meta.app_label not in settings.AGENT_APPS:
            return "default"
        if (instance := hints.get("instance")) and instance._state.db:
            return instance._state.db
        raise NoAgentChosen(f"Say whose: {model.__name__}.objects.using(agent.db)")

    db_for_write = db_for_read

    def allow_relation(self, obj1, obj2, **hints):
        return obj1._state.db == obj2._state.db

    def allow_migrate(self, db, app_label, **hints):
        return db.startswith("agent_") == (app_label in settings.AGENT_APPS)
