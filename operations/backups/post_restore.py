"""Updates a home that was just unpacked, as a program of its own.

`python -m operations.backups.post_restore BACKUP BY ARCHIVE LACKS` runs in the restored home (`OPENCLAW_WEB_HOME`)
before it is in use: it updates the schemas, ends jobs that were running when the backup was created, and computes sums
again. The start of the program has created new keys already.
"""

import sys
from pathlib import Path

import orjson


def main() -> None:
    import django

    django.setup()
    # A restore syncs the whole home before the exchange, and a restore test removes it.
    from django.db import DEFAULT_DB_ALIAS, connections

    from openclaw_web.sqlite import connection_options

    connection_options.disable_sync(connections.settings[DEFAULT_DB_ALIAS]["OPTIONS"])  # agents' files get the same
    from django.core.management import CommandError, call_command

    from openclaw_web.errors import Refused

    try:
        call_command("migrate", verbosity=0)
        call_command("migrate_agents", verbosity=0)
        facts = revive(*sys.argv[1:5])
    except (CommandError, Refused) as exc:
        sys.exit(str(exc).partition("\n")[0])
    print(orjson.dumps(facts).decode())  # noqa: T201 - it answers the process that started it


def revive(backup_id: str, by: str, archive: str, lacks: str) -> dict:
    """End interrupted jobs, compute sums again and record the origin of this home; returns its content."""
    from django.db import connections
    from django.utils.translation import gettext as _

    from agents.models import Agent
    from jobs.models import JobRun
    from openclaw_web import clock
    from overview import summaries
    from overview.models import AgentSummary
    from people.audit import log as audit
    from people.models import SignIn, User

    from ..models import BackupRun
    from . import runs

    now, sentence = clock.now_ms(), _("The home was restored from a backup before this had ended.")
    JobRun.objects.filter(state__in=[JobRun.State.QUEUED, JobRun.State.RUNNING]).update(
        state=JobRun.State.FAILED, message=sentence, finished_at=now, worker=""
    )
    SignIn.objects.filter(ended_at=None).update(session_key=None, ended_at=now, ended_because=SignIn.End.ENDED)
    BackupRun.objects.filter(status=BackupRun.Status.RUNNING).exclude(id=backup_id).update(
        status=BackupRun.Status.FAILED, message=sentence, finished_at=now
    )
    BackupRun.objects.filter(id=backup_id).update(
        **runs.build_status(lacks),
        archive_path=archive,
        finished_at=now,
        verified_at=now,
        proven_at=now,
        archive_bytes=Path(archive).stat().st_size,
    )
    collected = dict(AgentSummary.objects.values_list("agent_id", "last_collected_at"))
    agents = list(Agent.objects.order_by("agent_id"))
    for agent in agents:
        summaries.refresh(agent, collected_at=collected.get(agent.agent_id))
        connections[agent.db].close()
    audit.record(by, "restored", object_type="backup", object_id=backup_id)
    return {"agents": [agent.agent_id for agent in agents], "users": User.objects.count()}


if __name__ == "__main__":
    main()
