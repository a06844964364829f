from django.db import migrations, models

# Filtered lists are read in the order of time: the time follows what they filter by.
INDEXES = {
    "idx_audit_actor": ["actor", "at"],
    "idx_audit_action": ["action", "at"],
    "idx_audit_object": ["object_type", "object_id", "at"],
}


class Migration(migrations.Migration):
    dependencies = [("agents", "0004_audit_is_never_replaced")]
    operations = [
        *(migrations.RemoveIndex(model_name="auditentry", name=name) for name in INDEXES),
        *(
            migrations.AddIndex(model_name="auditentry", index=models.Index(fields=fields, name=name))
            for name, fields in {"idx_audit_at": ["at"], **INDEXES}.items()
        ),
    ]
