#!/usr/bin/env python3
"""Puts what `wamtrain plan` prints into the documentation.

Usage: refresh_docs.py WAMTRAIN [--check] [FILE ...]   (files: docs/running.md)

Between `<!-- output: wamtrain plan ... -->` and `<!-- end -->` stands the output of that command,
between `<!-- table: NAME -->` and `<!-- end -->` a table of several plans. With --check nothing is
written, and the exit code is 1 when something would be.
"""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"<!-- (output|table): (.*?) -->\n.*?<!-- end -->", re.DOTALL)
GIB = 1024**3
STRATEGIES = [("no_shard", "last"), ("shard_grad_op", "last"), ("shard_grad_op", "each"),
              ("full_shard", "last"), ("full_shard", "each"), ("hybrid_shard", "last"),
              ("hybrid_shard", "each")]


def run(wamtrain, arguments):
    done = subprocess.run([wamtrain, *arguments], cwd=ROOT, capture_output=True, text=True,
                          env={**os.environ, "WAM_CONFIG_DIR": str(ROOT / "configs")})
    if done.returncode != 0:
        sys.exit(f"wamtrain {shlex.join(arguments)}: {done.stderr}")
    return done.stdout


def plan(wamtrain, model, gpus, **overrides):
    """A plan with a micro-step's samples in every GPU's part of the batch, four times."""
    sets = {"train.micro_batch": 1, **{k.replace("__", "."): v for k, v in overrides.items()}}
    sets.setdefault("train.global_batch", 4 * gpus * sets["train.micro_batch"])
    nodes = ["--nodes", str(gpus // 8), "--link", "50"] if gpus > 8 else []
    arguments = ["plan", f"configs/{model}_bench.yaml", "--gpus", str(gpus), *nodes, "--json"]
    for key, value in sets.items():
        arguments += ["--set", f"{key}={value}"]
    return json.loads(run(wamtrain, arguments))


def gib(count):
    return f"{count / GIB:.1f}"


def table_memory(wamtrain):
    """Weights, gradients and optimizer on every GPU."""
    counts = (1, 2, 8, 64)
    columns = [(model, gpus) for model in ("5b", "14b") for gpus in counts]
    plans = {column: plan(wamtrain, *column) for column in columns}
    lines = ["| strategy | reduce | " + " | ".join(f"{m.upper()}, {g}" for m, g in columns) + " |",
             "| --- | --- |" + " ---: |" * len(columns)]
    for strategy, reduce in STRATEGIES:
        cells = []
        for column in columns:
            rows = [s for s in plans[column]["strategies"] if s["strategy"] == strategy
                    and s["reduce"] == reduce and not s["state_on_host"]]
            cells.append(gib(sum(rows[0][k + "_bytes"] for k in ("weight", "gradient", "optimizer")))
                         if rows else "")
        lines.append(f"| `{strategy}` | {reduce} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def table_recompute(wamtrain):
    """One GPU: what micro-batches and policies need and give."""
    lines = ["| model | micro-batch | " + " | ".join(f"`{p}`" for p in POLICIES) + " |",
             "| --- | ---: |" + " ---: |" * len(POLICIES)]
    for model, batches in (("5b", (1, 8, 16, 32)), ("14b", (1, 2))):
        for batch in batches:
            cells = []
            for policy in POLICIES:
                one = plan(wamtrain, model, 1, train__micro_batch=batch, memory__recompute=policy)
                measured = "" if one["notes"][0].endswith("measured.") else "~"
                cells.append(f"{gib(one['activation_bytes'])} GiB, "
                             f"{measured}{batch / one['micro_step_s']:.3g}/s")
            lines.append(f"| {model.upper()} | {batch} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


POLICIES = ("none", "norms", "attention", "full")
TABLES = {"memory": table_memory, "recompute": table_recompute}


def refreshed(text, wamtrain):
    def block(match):
        kind, what = match.groups()
        if kind == "table":
            inside = TABLES[what](wamtrain)
        else:
            shown = "\n".join("    " + line if line else ""
                              for line in run(wamtrain, shlex.split(what)[1:]).splitlines())
            inside = f"    $ {what}\n\n{shown}"
        return f"<!-- {kind}: {what} -->\n{inside}\n<!-- end -->"
    return BLOCK.sub(block, text)


def main():
    arguments = [a for a in sys.argv[1:] if a != "--check"]
    if not arguments:
        sys.exit(__doc__)
    wamtrain = str(pathlib.Path(arguments[0]).resolve())
    files = [pathlib.Path(a) for a in arguments[1:]] or [ROOT / "docs" / "running.md"]
    stale = []
    for file in files:
        old = file.read_text()
        new = refreshed(old, wamtrain)
        if new == old:
            continue
        stale.append(str(file))
        if "--check" not in sys.argv:
            file.write_text(new)
    if stale and "--check" in sys.argv:
        sys.exit(f"{', '.join(stale)}: not what the program prints. Fix: scripts/refresh_docs.py "
                 "WAMTRAIN")
    print("the documentation shows what the program prints")


if __name__ == "__main__":
    main()
