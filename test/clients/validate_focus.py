"""Runs the official validator of FOCUS on a file. Prints the ids of the rules that passed and that failed, as JSON.

Arguments: the file, the version, the criteria, and optionally a directory with the rules of the version.
"""

import contextlib
import io
import json
import logging
import sys

from focus_validator.validator import DEFAULT_VERSION_SETS_PATH, Validator
import polars

file, version, criteria, *rules = sys.argv[1:]
logging.disable(logging.CRITICAL)


def validator(prefix=None):
    return Validator(
        data_filename=file,
        output_destination=None,
        output_type="console",
        focus_dataset="CostAndUsage",
        rules_version=version,
        rule_set_path=rules[0] if rules else DEFAULT_VERSION_SETS_PATH,
        rules_block_remote_download=bool(rules),
        applicability_criteria=criteria,
        filter_rules=prefix,
    )


def results(prefix=None):
    """Returns whether each rule with the prefix passed. Rules that it depends on, of other columns, are left out."""
    with contextlib.redirect_stdout(io.StringIO()):
        found = validator(prefix).validate().by_rule_id
    return {
        rule: entry["ok"]
        for rule, entry in found.items()
        if rule.startswith(prefix or "") and not (entry.get("details") or {}).get("skipped")
    }


def columns():
    head = polars.read_csv(file, n_rows=0) if file.endswith(".csv") else polars.read_parquet(file, n_rows=0)
    return [name for name in head.columns if not name.startswith("x_")]


def prefixes():
    """The rules of 1.4 as a whole have a circle between columns of commitments: those of each column are run alone."""
    with open(validator("CAU-BilledCost-").spec_rules.json_rule_file, encoding="utf-8") as model:
        presence = [
            rule
            for rule, of in json.load(model)["ModelRules"].items()
            if rule.startswith("CAU-CostAndUsage-D-") and of["Function"] == "Presence" and of["Status"] != "Removed"
        ]
    return [f"CAU-{name}-" for name in columns()] + presence


def all_results():
    if version == "1.2":
        return results()
    return {rule: ok for prefix in prefixes() for rule, ok in results(prefix).items()}


every = all_results()
print(json.dumps({"passed": [one for one, ok in every.items() if ok], "failed": [one for one, ok in every.items() if not ok]}))
