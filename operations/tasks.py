"""What django-tasks delivers: the id of a run."""

from django_tasks import task

from . import running


@task()
def deliver(job_id: str) -> None:
    """Run the job whose id arrived; nothing happens when it is not waiting any more."""
    running.run(job_id)
