#!/usr/bin/env python3
"""Which micro-batch with which recompute policy is the fastest that fits? One table of all pairs.

    scripts/launch/sweep.py RECIPE [--micro-batch 1 2 4 8] [--recompute none norms attention full]
        [--out sweep.md] [anything that `wamtrain bench` takes, such as --set KEY=VALUE]

Each pair is a `wamtrain bench --what step` of its own on one GPU (`--what loop` with the recipe's
datasets, `--assume-world 8` with a rank's part of a full shard over 8). A pair that fails, for lack
of memory for one, is a row of the table that says so. The table grows row by row, so that an
interrupted sweep leaves what it has measured. The exit code is 1 when no pair could be measured.
WAMTRAIN: the program (default: the one on PATH).
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

HEAD = ("| micro-batch | recompute | samples/s | step, ms | peak, GiB | |\n"
        "| ---: | --- | ---: | ---: | ---: | --- |\n")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     allow_abbrev=False)
    parser.add_argument("recipe")
    parser.add_argument("--micro-batch", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--recompute", nargs="+", default=["none", "norms", "attention", "full"])
    parser.add_argument("--what", default="step", choices=["step", "loop"])
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("sweep.md"))
    return parser.parse_known_args()


def measure(options, more, micro_batch, recompute):
    """Figures of one pair, or the reason why there are none."""
    command = [os.environ.get("WAMTRAIN", "wamtrain"), "bench", options.recipe, "--what",
               options.what, "--json", "--no-phases", "--ceiling-seconds", "0", *more,
               "--set", f"train.micro_batch={micro_batch}",
               "--set", f"memory.recompute={recompute}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        figures = json.loads(done.stdout)["figures"]
        return {name: figure["value"] for name, figure in figures.items()}, None
    words = done.stderr.strip().splitlines()[:1] or [f"ended by signal {-done.returncode}"]
    return None, f"exit code {done.returncode}: {words[0].replace('|', '/')[:100]}"


def row(micro_batch, recompute, figures, problem):
    if figures is None:
        return f"| {micro_batch} | `{recompute}` | | | | {problem} |\n"
    return (f"| {micro_batch} | `{recompute}` | {figures['samples_s']:.2f} | {figures['ms']:.1f} | "
            f"{figures['peak_bytes'] / 1024**3:.1f} | |\n")


def main():
    options, more = arguments()
    rates = {}
    table = HEAD
    print(HEAD, end="", flush=True)
    for recompute in options.recompute:
        for micro_batch in options.micro_batch:
            figures, problem = measure(options, more, micro_batch, recompute)
            if figures is not None:
                rates[micro_batch, recompute] = figures["samples_s"]
            line = row(micro_batch, recompute, figures, problem)
            print(line, end="", flush=True)
            table += line
            options.out.write_text(table)
    if not rates:
        sys.exit("sweep.py: no pair could be measured")
    micro_batch, recompute = max(rates, key=rates.get)
    best = f"\nfastest: train.micro_batch: {micro_batch}, memory.recompute: {recompute}\n"
    print(best, end="")
    options.out.write_text(table + best)


if __name__ == "__main__":
    main()
