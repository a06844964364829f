"""Run inside a consumer's environment: what Harbor's validator says of ATIF files. Prints one JSON object."""

import json
import sys
from pathlib import Path

from harbor.models.trajectories import Trajectory
from harbor.utils.trajectory_validator import TrajectoryValidator


def read(folder):
    """The errors of each file, and the steps of the trajectories in it."""
    answers = {}
    for path in sorted(Path(folder).glob("*_*.json")):
        validator = TrajectoryValidator()
        is_valid = validator.validate(path)
        document = Trajectory.model_validate_json(path.read_text())
        embedded = [len(child.steps) for child in document.subagent_trajectories or []]
        answers[path.name] = {
            "is_valid": is_valid,
            "errors": validator.errors,
            "steps": [len(document.steps), *embedded],
        }
    return answers


answers = {name: read(folder) for name, folder in json.loads(sys.argv[1]).items()}
sys.stdout.write(json.dumps({"answers": answers}))
