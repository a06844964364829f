"""`python -m operations.backups.post_restore BACKUP BY ARCHIVE LACKS`: make a home that was just unpacked a usable one.

It runs in the restored home (`OPENCLAW_WEB_HOME`) before anybody else can: schemas are brought up to date, what was
under way when the backup was made has ended, sums are made again. Starting has made new keys already.
"""

import sys
from pathlib import Path

import orjson


def main() -> None:
    import django

    django.setup()
    _sync_later()
    from django.core.management import CommandError, call_command

    from openclaw_web.errors import Refused

    try:
        call_command("migrate", verbosity=0)
        call_command("migrate_agents", verbosity=0)
        facts = revive(*sys.argv[1:5])
    except (CommandError, Refused) as exc:
        sys.exit(str(exc).partition("\n")[0])
    print(orjson.dumps(facts).decode())  # noqa: T201 - it answers the process that started it


def _sync_later():
    # A restore has everything synced at once before this home gets its place, and a drill throws it away.
    from django.db import DEFAULT_DB_ALIAS, connections

    from openclaw_web.sqlite import connection_options

    connection_options.disable_sync(connections.settings[DEFAULT_DB_ALIAS]["OPTIONS"])  # agents' files get the same


def revive(backup_id: str, by: str, archive: str, lacks: str) -> dict:
    """End what was under way, make sums again, and write down where this home comes from; what is in it."""
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
