import hashlib
import json
import time

import zstandard
from django.db import migrations

MEMBER_COLUMNS = ('sample_id', 'side', 'status', 'label_id', 'content_hash')


def add_seals(apps, schema_editor):
    """Seal each release whose members are those of its own checksum; others stay without a seal."""
    database = schema_editor.connection.connection
    database.text_factory = lambda text: text.decode('utf-8', 'surrogateescape')  # whatever somebody wrote into a row
    try:
        _add_seals(apps)
    finally:
        database.text_factory = str


def _add_seals(apps):
    version_model, member_model, seal_model = (
        apps.get_model('datasets', name) for name in ('DatasetVersion', 'DatasetMember', 'ReleaseSeal')
    )
    entry_model = apps.get_model('people', 'AuditEntry')
    names, member_names = (
        [field.attname for field in model._meta.concrete_fields] for model in (version_model, member_model)
    )
    places = [member_names.index(name) for name in MEMBER_COLUMNS]
    for version in version_model.objects.filter(state='released').order_by('released_at', 'id'):
        seal, checksum, count = hashlib.sha256(), hashlib.sha256(), 0
        packer, parts = zstandard.ZstdCompressor().compressobj(), []
        for line in ([names, member_names], [getattr(version, name) for name in names]):
            _add(line, seal, packer, parts)
        members = member_model.objects.filter(version_id=version.id).order_by('sample_id', 'id')
        for member in members.values_list(*member_names).iterator():
            text = '\t'.join('' if member[place] is None else str(member[place]) for place in places)
            checksum.update(text.encode(errors='surrogatepass') + b'\n')
            _add(member, seal, packer, parts)
            count += 1
        if (checksum.hexdigest(), count) != (version.checksum, version.member_count):
            continue
        contents, now = b''.join([*parts, packer.flush()]), int(time.time() * 1000)
        seal_model.objects.create(
            version=version, sha256=seal.hexdigest(), contents=contents, sealed_at=now, is_later=True
        )
        detail = {'number': version.number, 'version': version.id, 'seal': seal.hexdigest()}
        entry_model.objects.create(
            at=now, actor='', via='command', action='sealed', object_type='dataset', object_id=version.dataset_id,
            detail_json=json.dumps(detail),
        )


def _add(line, digest, packer, parts):
    data = json.dumps(line, default=repr).encode() + b'\n'
    digest.update(data)
    parts.append(packer.compress(data))


class Migration(migrations.Migration):

    dependencies = [
        ('datasets', '0004_9dd46568'),
        ('people', '0001_7da96657'),
    ]

    operations = [migrations.RunPython(add_seals, migrations.RunPython.noop)]
