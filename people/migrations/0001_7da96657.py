import django.contrib.auth.models
import django.contrib.auth.validators
import django.db.models.deletion
import django.utils.timezone
import openclaw_web.sqlite.fields
from django.conf import settings
from django.db import migrations, models

from . import _sql


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
    ]

    operations = [
        migrations.CreateModel(
            name='KeyValue',
            fields=[
                ('pk', models.CompositePrimaryKey('scope', 'key', blank=True, editable=False, primary_key=True, serialize=False)),
                ('scope', models.TextField()),
                ('key', models.TextField()),
                ('value_json', models.TextField()),
                ('updated_at', openclaw_web.sqlite.fields.EpochMs()),
            ],
            options={
                'db_table': 'kv',
            },
        ),
        migrations.CreateModel(
            name='User',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.TextField(choices=[('viewer', 'Viewer'), ('labeller', 'Labeller'), ('operator', 'Operator'), ('admin', 'Admin')], default='viewer')),
                ('language', models.TextField(blank=True, default='')),
                ('time_zone', models.TextField(blank=True, default='')),
                ('theme', models.TextField(blank=True, default='')),
                ('session_epoch', openclaw_web.sqlite.fields.Count(default=0)),
                ('password', models.CharField(max_length=128, verbose_name='password')),
                ('last_login', models.DateTimeField(blank=True, null=True, verbose_name='last login')),
                ('is_superuser', models.BooleanField(default=False, help_text='Designates that this user has all permissions without explicitly assigning them.', verbose_name='superuser status')),
                ('username', models.CharField(error_messages={'unique': 'A user with that username already exists.'}, help_text='Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.', max_length=150, unique=True, validators=[django.contrib.auth.validators.UnicodeUsernameValidator()], verbose_name='username')),
                ('first_name', models.CharField(blank=True, max_length=150, verbose_name='first name')),
                ('last_name', models.CharField(blank=True, max_length=150, verbose_name='last name')),
                ('email', models.EmailField(blank=True, max_length=254, verbose_name='email address')),
                ('is_staff', models.BooleanField(default=False, help_text='Designates whether the user can log into this admin site.', verbose_name='staff status')),
                ('is_active', models.BooleanField(default=True, help_text='Designates whether this user should be treated as active. Unselect this instead of deleting accounts.', verbose_name='active')),
                ('date_joined', models.DateTimeField(default=django.utils.timezone.now, verbose_name='date joined')),
                ('groups', models.ManyToManyField(blank=True, help_text='The groups this user belongs to. A user will get all permissions granted to each of their groups.', related_name='user_set', related_query_name='user', to='auth.group', verbose_name='groups')),
                ('user_permissions', models.ManyToManyField(blank=True, help_text='Specific permissions for this user.', related_name='user_set', related_query_name='user', to='auth.permission', verbose_name='user permissions')),
            ],
            options={
                'db_table': 'users',
            },
            managers=[
                ('objects', django.contrib.auth.models.UserManager()),
            ],
        ),
        migrations.CreateModel(
            name='ApiToken',
            fields=[
                ('id', models.TextField(primary_key=True, serialize=False)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tokens', to=settings.AUTH_USER_MODEL)),
                ('name', models.TextField()),
                ('prefix', models.TextField(unique=True)),
                ('secret_sha256', models.TextField()),
                ('role', models.TextField(choices=[('viewer', 'Viewer'), ('labeller', 'Labeller'), ('operator', 'Operator'), ('admin', 'Admin')])),
                ('created_at', openclaw_web.sqlite.fields.EpochMs()),
                ('last_used_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('expires_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('revoked_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
            ],
            options={
                'db_table': 'api_tokens',
            },
        ),
        migrations.CreateModel(
            name='AuditEntry',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('at', openclaw_web.sqlite.fields.EpochMs()),
                ('actor', models.TextField()),
                ('via', models.TextField()),
                ('action', models.TextField()),
                ('object_type', models.TextField(default='')),
                ('object_id', models.TextField(default='')),
                ('agent_id', models.TextField(default='')),
                ('detail_json', models.TextField(default='{}')),
            ],
            options={
                'db_table': 'operator_audit',
                'indexes': [models.Index(fields=['at'], name='idx_audit_at'), models.Index(fields=['actor', 'at'], name='idx_audit_actor'), models.Index(fields=['action', 'at'], name='idx_audit_action'), models.Index(fields=['object_type', 'object_id', 'at'], name='idx_audit_object')],
            },
        ),
        migrations.CreateModel(
            name='IdempotencyKey',
            fields=[
                ('id', models.AutoField(primary_key=True, serialize=False)),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL)),
                ('key', models.TextField()),
                ('fingerprint', models.TextField()),
                ('claim', models.TextField()),
                ('leased_until', openclaw_web.sqlite.fields.EpochMs()),
                ('status', openclaw_web.sqlite.fields.Count(null=True)),
                ('content_type', models.TextField(default='')),
                ('body_zstd', models.BinaryField(null=True)),
                ('created_at', openclaw_web.sqlite.fields.EpochMs()),
            ],
            options={
                'db_table': 'idempotency_keys',
            },
        ),
        migrations.CreateModel(
            name='Invitation',
            fields=[
                ('id', models.TextField(primary_key=True, serialize=False)),
                ('token_sha256', models.TextField(unique=True)),
                ('role', models.TextField(choices=[('viewer', 'Viewer'), ('labeller', 'Labeller'), ('operator', 'Operator'), ('admin', 'Admin')])),
                ('note', models.TextField(default='')),
                ('made_by', models.TextField()),
                ('created_at', openclaw_web.sqlite.fields.EpochMs()),
                ('expires_at', openclaw_web.sqlite.fields.EpochMs()),
                ('used_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('used_by', models.TextField(default='')),
                ('revoked_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
            ],
            options={
                'db_table': 'invitations',
                'indexes': [models.Index(fields=['created_at', 'id'], name='idx_invitation_created')],
                'constraints': [models.CheckConstraint(condition=models.Q(('role__in', ['viewer', 'labeller', 'operator', 'admin'])), name='invitation_role')],
            },
        ),
        migrations.CreateModel(
            name='OneTimeLink',
            fields=[
                ('token_sha256', models.TextField(primary_key=True, serialize=False)),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL)),
                ('created_at', openclaw_web.sqlite.fields.EpochMs()),
                ('expires_at', openclaw_web.sqlite.fields.EpochMs()),
                ('used_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
            ],
            options={
                'db_table': 'one_time_links',
            },
        ),
        migrations.CreateModel(
            name='SignIn',
            fields=[
                ('id', models.TextField(primary_key=True, serialize=False)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='sign_ins', to=settings.AUTH_USER_MODEL)),
                ('session_key', models.TextField(null=True, unique=True)),
                ('how', models.TextField()),
                ('address', models.TextField(default='')),
                ('user_agent', models.TextField(default='')),
                ('created_at', openclaw_web.sqlite.fields.EpochMs()),
                ('last_seen_at', openclaw_web.sqlite.fields.EpochMs()),
                ('expires_at', openclaw_web.sqlite.fields.EpochMs()),
                ('ended_at', openclaw_web.sqlite.fields.EpochMs(null=True)),
                ('ended_because', models.TextField(choices=[('', ''), ('signed_out', 'Signed Out'), ('ended', 'Ended'), ('replaced', 'Replaced'), ('password_changed', 'Reset'), ('deactivated', 'Deactivated'), ('expired', 'Expired')], default='')),
            ],
            options={
                'db_table': 'sign_ins',
            },
        ),
        migrations.AddConstraint(
            model_name='user',
            constraint=models.CheckConstraint(condition=models.Q(('role__in', ['viewer', 'labeller', 'operator', 'admin'])), name='user_role'),
        ),
        migrations.AddIndex(
            model_name='idempotencykey',
            index=models.Index(fields=['created_at'], name='idx_idempotency_created'),
        ),
        migrations.AddConstraint(
            model_name='idempotencykey',
            constraint=models.UniqueConstraint(fields=('user', 'key'), name='idempotency_once'),
        ),
        migrations.AddIndex(
            model_name='signin',
            index=models.Index(fields=['user', 'created_at', 'id'], name='idx_sign_in_user'),
        ),
        migrations.AddIndex(
            model_name='signin',
            index=models.Index(fields=['ended_at'], name='idx_sign_in_ended'),
        ),
        migrations.AddIndex(
            model_name='signin',
            index=models.Index(fields=['expires_at'], name='idx_sign_in_expires'),
        ),
        migrations.RunPython(_sql.add, _sql.drop, elidable=False),
    ]
