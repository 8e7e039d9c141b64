# Sourced by the other scripts: where dependencies live, and the right cmake on PATH.
wam_root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
WAM_DEPS_DIR="${WAM_DEPS_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/wamtrain/deps}"
wam_site="$WAM_DEPS_DIR/site"
export WAM_DEPS_DIR
export PATH="$wam_site/cmake/data/bin:$PATH"

say() { printf '== %s\n' "$*"; }

# Threads that wait sleep and leave their core to others: the loader's beside the training's, tests
# beside each other. Where cores are few, spinning makes a step several times slower.
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"

# Cores that this process may use.
wam_cores() { nproc 2>/dev/null || echo 2; }
