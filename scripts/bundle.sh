#!/usr/bin/env bash
# Builds wamtrain for GPU machines that have PyTorch but no root and no package manager, and packs
# it with the few libraries such a machine lacks.
#
#   scripts/bundle.sh [OUT]          default OUT: build/wamtrain-bundle
#
# On the node: OUT/wamtrain train RECIPE. The wrapper finds LibTorch 2.11 (CUDA 13), Arrow 25 and the
# NVIDIA libraries in the node's Python (python3, or $WAM_PYTHON).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=${1:-$root/build/wamtrain-bundle}
"$root/scripts/setup.sh"
deps=${WAM_DEPS_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/wamtrain/deps}
export PATH="$deps/site/cmake/data/bin:$PATH"

"$root/scripts/build_ffmpeg.sh" "$deps/ffmpeg-static"
cmake -S "$root" --preset bundle -DWAM_FFMPEG_DIR="$deps/ffmpeg-static" -DWAM_TESTS="${WAM_BUNDLE_TESTS:-OFF}"
cmake --build "$root/build/bundle" --target wamtrain ${WAM_BUNDLE_TARGETS:-}

rm -rf "$out"
mkdir -p "$out/bin" "$out/lib" "$out/configs"
cp "$root/build/bundle/apps/wamtrain/wamtrain" "$out/bin/"
cp -r "$root/configs/." "$out/configs/"
for target in ${WAM_BUNDLE_TARGETS:-}; do
  find "$root/build/bundle/test" -type f -name "$target" -exec cp {} "$out/bin/" \;
done
strip --strip-debug "$out"/bin/*

# Everything that is neither the C library, the driver's, CUDA's, LibTorch's nor Arrow's.
for program in "$out"/bin/*; do
  ldd "$program" | awk '$3 ~ /^\// {print $3}'
done | sort -u | while read -r library; do
  case $library in
    "$deps"/*|/usr/local/cuda*|*/libc.so*|*/libm.so*|*/libdl.so*|*/librt.so*|*/libpthread.so*|*/libutil.so*) ;;
    *libstdc++*|*libgcc_s*|*ld-linux*|*libcuda.so*|*libnccl*|*libcudnn*) ;;
    *) cp -L "$library" "$out/lib/" ;;
  esac
done

cat >"$out/run.sh" <<'RUN'
#!/usr/bin/env bash
# Runs a program of bin/ with the node's LibTorch, Arrow and NVIDIA libraries.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
paths=$("${WAM_PYTHON:-python3}" - <<'PY'
import glob, importlib.util, os, sys
parts = []
for name in ("torch", "pyarrow", "nvidia"):
    spec = importlib.util.find_spec(name)
    if spec is None:
        sys.exit(f"wamtrain: this Python has no {name}. Fix: set WAM_PYTHON to one with torch 2.11 and pyarrow 25.")
    for base in spec.submodule_search_locations:
        parts += [os.path.join(base, "lib")] if name == "torch" else \
                 [base] if name == "pyarrow" else glob.glob(os.path.join(base, "*", "lib"))
print(":".join(parts))
PY
) || exit 3
export LD_LIBRARY_PATH="$here/lib:$paths${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export WAM_CONFIG_DIR="${WAM_CONFIG_DIR:-$here/configs}"
program=$1
shift
exec "$here/bin/$program" "$@"
RUN
cat >"$out/wamtrain" <<'RUN'
#!/usr/bin/env bash
exec "$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/run.sh" wamtrain "$@"
RUN
chmod +x "$out/run.sh" "$out/wamtrain"
echo "bundle: $out, $(du -sh "$out" | cut -f1)"
