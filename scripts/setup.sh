#!/usr/bin/env bash
# Installs what a build needs, and says what it does. Running it again costs a second and no network.
#
#   Debian 12, Ubuntu 22.04 or 24.04 packages: compilers and libraries (needs root; without it the
#   missing ones are listed, and the script stops).
#   PyPI packages, for their headers and shared libraries: LibTorch, Arrow, CMake, the few CUDA
#   libraries that LibTorch names. They go into $WAM_DEPS_DIR/site (default
#   ~/.cache/wamtrain/deps/site); no Python environment is changed, and no Python runs in the program.
#
# A build with GPU support also wants the CUDA Toolkit 13.0 with cuDNN and NCCL; see README.md.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"

debian_packages=(
  g++ make git ccache mold ninja-build pkg-config python3
  libavcodec-dev libavformat-dev libavutil-dev libswscale-dev
  libyaml-cpp-dev nlohmann-json3-dev libcli11-dev catch2
  libsentencepiece-dev sentencepiece libutf8proc-dev libxxhash-dev
  libgloo-dev openmpi-bin
)
pypi_packages=(
  'torch==2.11.0' 'nvidia-cusparselt-cu13==0.8.0' 'nvidia-nvshmem-cu13==3.4.5' 'nvidia-cufile'
  'nvidia-cuda-runtime==13.0.96' 'nvidia-cuda-cupti==13.0.85' 'nvidia-cudnn-frontend'
  'pyarrow==25.0.1' 'cmake==3.31.*'
)

missing_debian_packages() {
  local package
  for package in "${debian_packages[@]}"; do
    dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || echo "$package"
  done
  # A pip of another Python serves as well.
  python3 -m pip --version >/dev/null 2>&1 || echo python3-pip
}

install_debian_packages() {
  local missing
  mapfile -t missing < <(missing_debian_packages)
  if ((${#missing[@]} == 0)); then
    say "system packages: all there"
    return
  fi
  if ((EUID != 0)); then
    say "system packages are missing, and only root can install them. Run:"
    echo "    sudo apt-get update && sudo apt-get install -y --no-install-recommends ${missing[*]}"
    echo "then start again."
    exit 3
  fi
  say "system packages: installing ${missing[*]}"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
}

# name==version or name, as its folder of metadata is called: torch-2.11.0.dist-info
is_installed() {
  local name="${1%%==*}" version='*'
  [[ "$1" == *==* ]] && version="${1##*==}"
  compgen -G "$wam_site/${name//-/_}-${version}.dist-info" >/dev/null
}

# pip replaces or skips folders that several packages share, so it installs into a fresh folder, which
# is then merged. The mark tells the next run that a merge was interrupted.
install_pypi_packages() {
  local mark="$WAM_DEPS_DIR/incomplete" stage="$WAM_DEPS_DIR/stage" missing=() package
  for package in "${pypi_packages[@]}"; do
    if [[ -e "$mark" ]] || ! is_installed "$package"; then missing+=("$package"); fi
  done
  if ((${#missing[@]} == 0)); then
    say "LibTorch, Arrow, CMake: all there in $wam_site"
    return
  fi
  say "installing into $wam_site: ${missing[*]}"
  mkdir -p "$wam_site"
  rm -rf "$stage"
  PIP_ROOT_USER_ACTION=ignore python3 -m pip install --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
    --target "$stage" "${missing[@]}"
  touch "$mark"
  cp -al --remove-destination "$stage/." "$wam_site/"
  rm -rf "$stage" "$mark"
}

if ! command -v dpkg-query >/dev/null; then
  echo "This script knows Debian and Ubuntu. Elsewhere, install by hand what it lists." >&2
  exit 3
fi
install_debian_packages
install_pypi_packages
say "set-up done"
