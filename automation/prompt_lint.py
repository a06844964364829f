"""Finds the lines of a schedule's prompt that rules ban."""

from dataclasses import dataclass
from itertools import islice

from django.urls import reverse

from artifacts.lint import Hit, lint_text

from .models import CronJob

JOB, FILE = "job", "file"
CHARACTERS = 1_000_000  # of one text that are checked
MAX_HITS = 50  # of one text that are shown
FAR = 200  # from this line on, a file is opened near it


@dataclass(frozen=True, slots=True)
class Finding:
    """One line that a rule bans.

    `kind` is `job` or `file`, and `id` a job's id or a file's name.
    """

    kind: str
    id: str
    name: str
    hit: Hit
    agent_id: str

    @property
    def href(self) -> str:
        """The address of the line."""
        if self.kind == JOB:
            return reverse("automation:cron_detail", args=[self.agent_id, self.id]) + "#prompt"
        near = f"?line={self.hit.line}" if self.hit.line > FAR else ""
        return reverse("guardian:file_detail", args=[self.agent_id, self.id]) + f"{near}#L{self.hit.line}"


def lint_job(job: CronJob, *, most: int | None = MAX_HITS) -> list[Finding]:
    """Return the lines of a job's prompt that a rule bans, the first `most`."""
    return lint_named_text(JOB, job.id, job.name or job.id, job.prompt, job.agent_id, most)


def lint_named_text(kind, name_id, name, text, agent_id, most):
    hits = islice(lint_text(text[:CHARACTERS], file=name), most)
    return [Finding(kind, name_id, name, hit, agent_id) for hit in hits]
