"""Creates the tables of a new file at once, as its migrations would leave them."""

from collections.abc import Collection

from django.db import router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations import RunPython
from django.db.migrations.executor import MigrationExecutor


def make_tables(connection: BaseDatabaseWrapper, apps: Collection[str] | None = None) -> None:
    """Create the tables of `apps`, or all, in an empty file, in one transaction.

    A file that has tables is not changed.

    Running the migrations would build the classes of all models again for every step, which takes most of the first
    command in a new home.
    """
    executor = MigrationExecutor(connection)
    targets = [target for target in executor.loader.graph.leaf_nodes() if apps is None or target[0] in apps]
    plan = [migration for migration, _is_backwards in executor.migration_plan(targets)]
    models = executor.loader.project_state(targets).apps
    with connection.schema_editor() as editor:
        if connection.introspection.table_names():  # another process was quicker
            return
        editor.create_model(executor.recorder.Migration)
        for model in models.get_models():
            if model._meta.can_migrate(connection) and router.allow_migrate_model(connection.alias, model):
                editor.create_model(model)
        for migration in plan:
            if router.allow_migrate(editor.connection.alias, migration.app_label):
                for operation in migration.operations:
                    if isinstance(operation, RunPython):
                        operation.code(models, editor)
            executor.recorder.record_applied(migration.app_label, migration.name)
