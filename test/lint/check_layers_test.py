#!/usr/bin/env python3
"""check_layers.py finds each kind of fault in a toy tree, and none in a sound one."""

import pathlib
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check_layers.py"

SOUND = {
    "core/base/errors.h": "#include <string>\n",
    "core/ops/gelu/gelu.cu": '#include <cuda_runtime.h>\n#include "core/base/errors.h"\n',
    "core/train/loop.h": '#include "core/recipe/field.h"\n',
    "data/video/decoder.cpp": '#include <libavcodec/avcodec.h>\n#include "core/base/errors.h"\n',
    "apps/wamtrain/main.cpp": '#include "models/wam/block.h"\n#include "data/video/decoder.h"\n',
    "test/unit/data/video/decoder_test.cpp": '#include "models/wam/block.h"\n',
}
FAULTY = [
    ("models/wam/block.h", '#include "data/video/decoder.h"\n', "models does not know data"),
    ("core/train/loop.cpp", '#include "models/wam/block.h"\n', "core does not know models"),
    ("core/base/names.cpp", '#include "core/io/hash.h"\n', "core/base does not stand above core/io"),
    ("core/io/hash.cpp", '#include "core/recipe/node.h"\n', "core/io does not stand above core/recipe"),
    ("core/odd/a.h", '#include "core/base/names.h"\n', "core/odd has no place"),
    ("models/wam/block.cpp", "#include <cuda_runtime.h>\n", "CUDA, cuDNN and NCCL headers"),
    ("data/window/window.cpp", "# include <nccl.h>\n", "CUDA, cuDNN and NCCL headers"),
    ("models/vae/vae.cpp", "#include <arrow/api.h>\n", "FFmpeg and Arrow headers"),
    ("test/unit/a_test.cpp", "#include <torch/torch.h>\n", "belong in no file"),
    ("core/base/errors.cpp", '#include "errors.h"\n', "name the file from the project's root"),
    ("test/unit/b_test.cpp", 'TEST_CASE("one; two") {}\n', "a semicolon in a test's name"),
    ("data/loader/loader.cpp", "\n" * 501, "501 lines, at most 500"),
]


def run(files):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        done = subprocess.run([sys.executable, SCRIPT, folder], capture_output=True, text=True)
        return done.returncode, done.stdout


def main():
    code, output = run(SOUND)
    assert code == 0, output
    for name, text, expected in FAULTY:
        code, output = run({**SOUND, name: text})
        assert code == 1 and name in output and expected in output, (name, output)
    print(f"{len(FAULTY)} faults found")


if __name__ == "__main__":
    main()
