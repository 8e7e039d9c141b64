#!/usr/bin/env python3
"""Checks who includes whom, and how long files are. Usage: check_layers.py [ROOT]

apps -> {models, parallel, data} -> core. Inside core: base -> {io, random, recipe, cuda} -> ops ->
train -> {weights, report}. Tests may include everything. Prints every fault and exits with 1.
"""

import pathlib
import re
import sys

MAX_LINES = 500
SOURCES = {".h", ".cuh", ".cpp", ".cu"}
COUNTED = SOURCES | {".py", ".sh", ".cmake"}
TOPS = ("apps", "models", "parallel", "data", "core", "test")

MAY_INCLUDE = {
    "apps": {"apps", "models", "parallel", "data", "core"},
    "models": {"models", "core"},
    "parallel": {"parallel", "core"},
    "data": {"data", "core"},
    "core": {"core"},
    "test": set(TOPS),
}
CORE_RANK = {"base": 0, "io": 1, "random": 1, "recipe": 1, "cuda": 1, "ops": 2,
             "train": 3, "weights": 4, "report": 4}

# (what, headers, the folders that may include them)
THIRD_PARTY = [
    ("CUDA, cuDNN and NCCL headers",
     re.compile(r"^(cuda|cudnn|nccl|nvtx|cublas|cub/|cooperative_groups|c10/cuda/|ATen/cuda/"
                r"|ATen/cudnn/|torch/csrc/distributed/c10d/.*NCCL)"),
     ("core/cuda/", "core/ops/", "parallel/", "test/")),
    ("FFmpeg and Arrow headers",
     re.compile(r"^(libav\w+/|libsw\w+/|arrow/|parquet/)"), ("data/", "test/")),
    ("torch/torch.h and ATen/ATen.h (they take 15 to 30 s to compile)",
     re.compile(r"^(torch/torch\.h|torch/all\.h|ATen/ATen\.h|torch/extension\.h)$"), ()),
]
# CMake splits a test's name there, and what it then calls runs no test and succeeds.
SEMICOLON = re.compile(r'TEST_CASE\(\s*"[^"]*;')
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def own_fault(path, target):
    """Why `path` may not include the project's file `target`, or None."""
    top, target_top = path.split("/")[0], target.split("/")[0]
    if target_top not in TOPS:
        return "name the file from the project's root"
    if target_top not in MAY_INCLUDE[top]:
        return f"{top} does not know {target_top}"
    if top == target_top == "core":
        folder, target_folder = path.split("/")[1], target.split("/")[1]
        for name in (folder, target_folder):
            if name not in CORE_RANK:
                return f"core/{name} has no place in the layers yet: add it to check_layers.py"
        if folder != target_folder and CORE_RANK[target_folder] >= CORE_RANK[folder]:
            return f"core/{folder} does not stand above core/{target_folder}"
    return None


def third_party_faults(path, header):
    for what, pattern, folders in THIRD_PARTY:
        if pattern.match(header) and not path.startswith(folders):
            yield f"{what} belong in {', '.join(folders) or 'no file'}"


def faults_of(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quote, header = match.groups()
        faults = list(third_party_faults(path, header))
        if quote == '"' and (fault := own_fault(path, header)):
            faults.append(fault)
        for fault in faults:
            yield f"{path}:{number}: includes {header}: {fault}"


def check(root):
    problems = []
    for folder in (*TOPS, "scripts"):
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in COUNTED or not file.is_file():
                continue
            path, text = file.relative_to(root).as_posix(), file.read_text()
            lines = text.count("\n")
            if lines > MAX_LINES:
                problems.append(f"{path}: {lines} lines, at most {MAX_LINES}: split it")
            if file.suffix in SOURCES:
                problems.extend(faults_of(path, text))
                if SEMICOLON.search(text):
                    problems.append(f"{path}: a semicolon in a test's name: ctest would not run it")
    return problems


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    problems = check(root)
    print("\n".join(problems) if problems else "layers: all includes and sizes are in order")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
