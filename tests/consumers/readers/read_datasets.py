"""Run inside a consumer's environment: exports as HF `datasets` loads them. Prints one JSON object."""

import contextlib
import io
import json
import runpy
import sys

import datasets


def read(folder):
    """The output of `load.py` of an export, the rows that it loads, and their types."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        script = runpy.run_path(f"{folder}/load.py", run_name="__main__")
    rows = script["load"]()["train"]
    columns = {name: str(kind) for name, kind in rows.features.items()}
    return {"printed": printed.getvalue(), "rows": rows.to_list(), "columns": columns}


answers = {name: read(folder) for name, folder in json.loads(sys.argv[1]).items()}
sys.stdout.write(json.dumps({"version": datasets.__version__, "answers": answers}))
