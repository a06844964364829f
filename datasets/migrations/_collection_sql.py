"""What stands beside the tables of collecting: versions of strategies never change."""

REFUSED = "SELECT RAISE(ABORT, 'versions of strategies never change')"
TRIGGERS = {
    "collection_strategies_no_update": "BEFORE UPDATE ON collection_strategies",
    "collection_strategies_no_delete": "BEFORE DELETE ON collection_strategies",
    # INSERT OR REPLACE deletes without the triggers that refuse to delete.
    "collection_strategies_no_replace": """BEFORE INSERT ON collection_strategies
WHEN EXISTS (SELECT 1 FROM collection_strategies
    WHERE id = NEW.id OR (name = NEW.name AND version = NEW.version))""",
}


def add(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        for name, moment in TRIGGERS.items():
            schema_editor.execute(f"CREATE TRIGGER {name} {moment} BEGIN {REFUSED}; END")


def drop(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        for name in TRIGGERS:
            schema_editor.execute(f"DROP TRIGGER {name}")
