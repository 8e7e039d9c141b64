#!/usr/bin/env python3
"""How a run scales over the GPUs of one machine: one table, measured and predicted.

    scripts/scaling.py PART [PART ...] [--out DIR] [--gpus 1 2 4 8] [-- mpirun options]

    5b_no_shard, 5b_shard_grad_op, 5b_full_shard    the 5B, micro-batch 8, on each count of GPUs
    14b_full_shard, 14b_hybrid_shard                the 14B on the largest count: micro-batch 1 with
                                                    the policy that fits, micro-batch 2 with full
    elastic                                         the tiny model, saved on all GPUs and resumed on
                                                    half of them, against the run that went on
    tiny                                            the same rows with the tiny model on CPU ranks
    table                                           what DIR holds so far, as markdown

A part takes less than ten minutes. A row that was measured stays as DIR/<row>.json and is not
measured again; what `wamtrain plan` says does not fit is not started. Every part prints the table.
The exit code is 1 when a row failed, or the elastic check found a difference.

WAMTRAIN: the program (default: the one on PATH). WAM_CONFIGS: its recipes (default: beside this
script's folder).
"""

import argparse
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import sys

PROGRAM = os.environ.get("WAMTRAIN", "wamtrain")
CONFIGS = pathlib.Path(os.environ.get(
    "WAM_CONFIGS", pathlib.Path(__file__).resolve().parent.parent / "configs"))
# Work of a sample and a card's dense bf16 rate as its maker states it (H100 and H200), for MFU.
TFLOP = {"5b": 29.4, "14b": 1374.0}
CARD_TFLOP_S = 989.4
ROW_SECONDS = 280
ACCUMULATE = 4
STRATEGIES = ["no_shard", "shard_grad_op", "full_shard"]


@dataclasses.dataclass
class Row:
    model: str
    strategy: str
    gpus: int
    micro_batch: int
    policy: str
    sets: list
    device: str = "auto"
    full_blocks: int = 0  # the first ones, under "norms"

    @property
    def name(self):
        return f"{self.model}_{self.strategy}_{self.gpus}gpu_mb{self.micro_batch}_{self.policy}"

    def settings(self):
        batch = self.gpus * self.micro_batch * ACCUMULATE
        words = [f"train.micro_batch={self.micro_batch}", f"train.global_batch={batch}",
                 f"memory.recompute={self.policy}", f"parallel.strategy={self.strategy}",
                 f"run.device={self.device}", *self.sets]
        if self.full_blocks:
            words.append(f"memory.first_blocks={self.full_blocks}")
        return [word for setting in words for word in ("--set", setting)]

    def recipe(self):
        return str(CONFIGS / ("tiny.yaml" if self.model == "tiny" else f"{self.model}_bench.yaml"))


def rows_of(part, counts):
    """The rows of a part; empty for a part that has none."""
    most = max(counts)
    if part == "tiny":
        return [Row("tiny", s, n, 2, "none", [], "cpu") for s in STRATEGIES for n in counts]
    model, _, strategy = part.partition("_")
    if model == "5b":
        return [Row(model, strategy, n, 8, "norms", []) for n in counts]
    if model != "14b":
        return []
    sets = ["parallel.reduce=each"]
    if strategy == "hybrid_shard":
        sets.append(f"parallel.shard_size={max(1, most // 2)}")
    return [Row(model, strategy, most, 1, "norms", sets, full_blocks=4),
            Row(model, strategy, most, 2, "full", sets)]


def ranks(count, more):
    return [] if count == 1 else ["mpirun", "--bind-to", "none", "-np", str(count), *more]


def called(command, seconds=ROW_SECONDS):
    """Standard output, or None and why there is none."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return None, f"not done after {seconds} s"
    if done.returncode == 0:
        return done.stdout, None
    said = [line for line in done.stderr.splitlines() if line.startswith("wamtrain:")]
    return None, f"exit code {done.returncode}: {(said or ['no word'])[0].replace('|', '/')[:90]}"


def predicted(row):
    """The recipe's own row of `wamtrain plan`."""
    if row.device == "cpu":
        return {}
    text, problem = called([PROGRAM, "plan", row.recipe(), "--gpus", str(row.gpus), "--json",
                            *row.settings()])
    if text is None:
        return {"problem": problem}
    own = [s for s in json.loads(text)["strategies"] if s["is_of_recipe"]]
    return own[0] if own else {}


def fitted(row):
    """The row with as many blocks more recomputed whole as its memory needs, and its plan."""
    plan = predicted(row)
    for blocks in range(8, 40, 4) if row.full_blocks else ():
        if plan.get("fits", True):
            break
        row = dataclasses.replace(row, full_blocks=blocks)
        plan = predicted(row)
    return row, plan


def measure(row, more):
    row, plan = fitted(row)
    if not plan.get("fits", True):
        return {"row": dataclasses.asdict(row), "plan": plan, "problem": "does not fit"}
    command = [*ranks(row.gpus, more), PROGRAM, "bench", row.recipe(), "--what", "step", "--steps",
               "4", "--json", "--no-phases", "--ceiling-seconds", "0", *row.settings()]
    text, problem = called(command)
    out = {"row": dataclasses.asdict(row), "plan": plan, "problem": problem,
           "command": " ".join(command)}
    if text is not None:
        out["figures"] = {k: f["value"] for k, f in json.loads(text)["figures"].items()}
    return out


def line(name, result, one):
    row, plan = result["row"], result.get("plan") or {}
    blocks = f", {row['full_blocks']} blocks `full`" if row["full_blocks"] else ""
    head = (f"| {row['model']} | `{row['strategy']}` | {row['gpus']} | {row['micro_batch']}, "
            f"`{row['policy']}`{blocks} |")
    said = (plan.get("time") or {}).get("samples_s_gpu")
    wanted = f"{said:.3g}" if said else ""
    if "figures" not in result:
        return f"{head} {result['problem']} | | | | | {wanted} | |\n"
    figures = result["figures"]
    rate = figures["samples_s"] / row["gpus"]
    mfu = TFLOP.get(row["model"])
    cells = [f"{rate:.3g}", f"{100 * rate / one:.1f} %" if one else "",
             f"{100 * rate * mfu / CARD_TFLOP_S:.1f} %" if mfu else "",
             f"{100 * figures['exposed_share']:.1f} %" if "exposed_share" in figures else "",
             f"{figures['peak_bytes'] / 1024**3:.1f}", wanted,
             f"{100 * (said / rate - 1):+.1f} %" if said else ""]
    return f"{head} {' | '.join(cells)} |\n"


def table(out):
    results = [json.loads(file.read_text()) for file in sorted(out.glob("*gpu*.json"))]
    results.sort(key=lambda r: (len(r["row"]["model"]), r["row"]["model"], r["row"]["strategy"],
                                r["row"]["micro_batch"], r["row"]["gpus"]))
    alone = {(r["row"]["model"], r["row"]["strategy"], r["row"]["micro_batch"]):
             r["figures"]["samples_s"] for r in results if r["row"]["gpus"] == 1 and "figures" in r}
    text = ("| model | strategy | GPUs | micro-batch | samples/s/GPU | of one GPU | MFU | exposed | "
            "peak, GiB | plan | plan off |\n"
            "| --- | --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
    for result in results:
        row = result["row"]
        text += line(row, result, alone.get((row["model"], row["strategy"], row["micro_batch"])))
    for file in sorted(out.glob("elastic.json")):
        text += "\n" + json.loads(file.read_text())["words"] + "\n"
    (out / "table.md").write_text(text)
    return text


def run_part(part, options):
    failed = False
    for row in rows_of(part, options.gpus):
        file = options.out / f"{row.name}.json"
        if not file.exists():
            print(f"{row.name} ...", file=sys.stderr, flush=True)
            result = measure(row, options.mpirun)
            if result["problem"] in (None, "does not fit"):
                file.write_text(json.dumps(result, indent=1))
            else:
                print(f"{row.name}: {result['problem']}", file=sys.stderr)
                failed = True
    return failed


def losses(run):
    with open(run / "metrics.jsonl") as lines:
        rows = [row for row in map(json.loads, lines) if "loss" in row]
    return {row["step"]: (row["loss"], row["samples_seen"]) for row in rows}


def elastic(options):
    """Steps 1 to 10 on all GPUs, 11 to 20 on all and on half of them: the same samples, and losses
    that differ by the order of sums alone."""
    most = max(options.gpus)
    work = options.out / "elastic"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    _, problem = called([PROGRAM, "sample", "--out", str(work / "world"), "--pictures", "images",
                         "--episodes", "16"])
    common = [PROGRAM, "train", str(CONFIGS / "tiny.yaml"), "--set", f"run.device={options.device}",
              "--set", f"data.datasets=[{{path: {work / 'world'}, embodiment: tiny}}]",
              "--set", "validate.every=0", "--set", "checkpoint.every=10",
              "--set", f"train.global_batch={2 * most}", "--set", "train.micro_batch=1",
              "--set", "train.schedule=constant", "--set", "parallel.strategy=full_shard"]
    for name, count, steps in [("all", most, 10), ("all", most, 20), ("half", max(1, most // 2), 20)]:
        if problem is None and name == "half":
            (work / "half/checkpoints").mkdir(parents=True)
            shutil.copytree(work / "all/checkpoints/step_00000010",
                            work / "half/checkpoints/step_00000010")
        if problem is None:
            _, problem = called([*ranks(count, options.mpirun), *common, "--set",
                                 f"train.steps={steps}", "--set", f"run.dir={work / name}"])
    if problem is None:
        whole, half = losses(work / "all"), losses(work / "half")
        steps = [s for s in whole if s > 10]
        samples = len(steps) == 10 and all(whole[s][1] == half[s][1] for s in steps)
        apart = max(abs(whole[s][0] - half[s][0]) / abs(whole[s][0]) for s in steps)
        words = (f"Elastic: saved on {most}, resumed on {max(1, most // 2)}: 10 steps of "
                 f"{'the same' if samples else 'OTHER'} samples, losses at most {apart:.1e} apart.")
        if not samples or apart > 1e-2:
            problem = words
    else:
        words = ""
    shutil.rmtree(work, ignore_errors=True)
    if problem is not None:
        print(f"elastic: {problem}", file=sys.stderr)
        return True
    (options.out / "elastic.json").write_text(json.dumps({"words": words}))
    return False


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = [f"5b_{s}" for s in STRATEGIES] + ["14b_full_shard", "14b_hybrid_shard", "elastic",
                                               "tiny", "table"]
    parser.add_argument("parts", nargs="+", choices=parts, metavar="PART")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("scaling"))
    parser.add_argument("--gpus", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--device", default="auto", help="of the elastic check: auto, cuda or cpu")
    words = sys.argv[1:]
    split = words.index("--") if "--" in words else len(words)
    options = parser.parse_args(words[:split])
    options.mpirun = words[split + 1:]
    return options


def main():
    options = arguments()
    options.out.mkdir(parents=True, exist_ok=True)
    failed = False
    for part in options.parts:
        failed |= elastic(options) if part == "elastic" else run_part(part, options)
    print(table(options.out), end="")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
