#!/usr/bin/env bash
# Sets up, builds and runs every test that this machine can run; ends in ctest's own closing lines.
# Arguments go to ctest, as in: scripts/test.sh -L unit    or    scripts/test.sh -R recipe
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/environment.sh

scripts/setup.sh
say "building into build/release"
cmake --preset release
cmake --build --preset release -j "$(wam_cores)"
say "testing"
exec ctest --test-dir build/release --output-on-failure -j "$(wam_cores)" "$@"
