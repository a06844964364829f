from artifacts import garbage

from . import seconds

HELP = "Remove contents that no agent refers to, and what writers that died left behind."


def add_arguments(parser):
    parser.add_argument("--older-than", default="0s", metavar="AGE", help="only those stashed longer ago: 12h, 7d, ...")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be removed")


def run(older_than, dry_run, **options):
    result = garbage.collect(older_than=seconds(older_than), is_dry_run=dry_run)
    verb = "would be removed" if dry_run else "removed"
    words = f"{result.removed:,} contents {verb} ({result.removed_bytes:,} bytes), {result.kept + result.young:,} kept"
    return result.as_receipt(), words, 0
