"""Writes `data/agreement.json`: what krippendorff, irrCAC and scikit-learn say of random tables.

The libraries weigh 300 MB together, so that the tests read their answers instead. In a venv of its own:
`pip install krippendorff irrCAC scikit-learn && python tests/datasets/queues/library_values.py`.
"""

import json
import random
import warnings
from importlib.metadata import version
from pathlib import Path

import krippendorff
import numpy
import pandas
from irrCAC.raw import CAC
from sklearn.metrics import cohen_kappa_score

FILE = Path(__file__).with_name("data") / "agreement.json"
VALUES = "arn"


def build_table(dice, number):
    """A row for each item, a value or None for each reviewer; every second table has gaps."""
    people, common = 2 + number % 4, dice.random()
    gaps = 0.25 * (number % 2)
    return [
        [None if dice.random() < gaps else VALUES[0] if dice.random() < common else dice.choice(VALUES)
         for _ in range(people)]
        for _ in range(dice.randint(5, 60))
    ]  # fmt: skip


def compute(table):
    """Alpha and AC1 of a table; kappa and percent where it has two people and no gap."""
    codes = [[numpy.nan if value is None else VALUES.index(value) for value in row] for row in table]
    result = {"alpha": krippendorff.alpha(numpy.array(codes).T, level_of_measurement="nominal")}
    ratings = CAC(pandas.DataFrame(table), digits=15)
    result["ac1"] = ratings.gwet()["est"]["coefficient_value"]
    result["percent"] = ratings.gwet()["est"]["pa"]
    if len(table[0]) == 2 and all(value is not None for row in table for value in row):
        first, second = zip(*table, strict=True)
        result["kappa"] = cohen_kappa_score(first, second)
    return {name: float(value) for name, value in result.items()}


def main():
    """Write 80 tables with their values."""
    dice, tables = random.Random(7), []
    while len(tables) < 80:
        table = build_table(dice, len(tables))
        judged = [[value for value in row if value is not None] for row in table]
        if any(not row for row in judged) or len({value for row in judged if len(row) > 1 for value in row}) < 2:
            continue  # the libraries differ about items without values, and refuse a single value
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tables.append({"table": table, "values": compute(table)})
    versions = {name: version(name) for name in ("krippendorff", "irrCAC", "scikit-learn")}
    FILE.write_text(json.dumps({"versions": versions, "tables": tables}, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
