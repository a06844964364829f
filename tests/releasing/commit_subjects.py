"""Checks that subjects of commits read `area: what changes`, in at most 60 characters.

It is a step of ./dev check. Commits that are older than this file are not read, nor are merges.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 60
SUBJECT = re.compile(r"[a-z][a-z0-9_./, -]*: \S.*")


def main() -> None:
    """Print each subject that breaks the rule, and exit with 1 if there is one."""
    hashes = _git("log", "--diff-filter=A", "--format=%H", "--", str(Path(__file__).resolve().relative_to(ROOT)))
    if not hashes:
        sys.stdout.write("There is no Git history here: subjects of commits were not checked.\n")
        return
    problems = find_problems(_git("log", "--no-merges", "--format=%h %s", f"{hashes[-1]}..HEAD"))
    sys.stdout.writelines(f"{problem}\n" for problem in problems)
    sys.exit(1 if problems else 0)


def find_problems(commits: list[str]) -> list[str]:
    """A sentence for each commit (`hash subject`) whose subject breaks the rule."""
    problems = []
    for commit in commits:
        short_hash, _space, subject = commit.partition(" ")
        if len(subject) > LONGEST:
            problems.append(f"{short_hash}: {len(subject)} characters, at most {LONGEST}: {subject}")
        elif not SUBJECT.fullmatch(subject):
            problems.append(f"{short_hash}: not `area: what changes`: {subject}")
    return problems


def _git(*arguments: str) -> list[str]:
    """Lines that Git prints; none where there is no Git or no history."""
    try:
        answer = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return []
    return answer.stdout.splitlines() if answer.returncode == 0 else []


if __name__ == "__main__":
    main()
