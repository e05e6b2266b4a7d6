# Shared by scripts/demo and scripts/test: package installation, build, progress and explanations.
# Sourced, never run. Expects `set -euo pipefail` and $root.

build_dir=${DOPPEL_BUILD_DIR:-$root/build}
log_dir=$build_dir/logs
mkdir -p "$log_dir"

say() { printf '%s\n' "$*"; }

# step NAME COMMAND...: runs quietly with its output in a log; on failure shows the log's end.
step() {
  local name=$1 log started; shift
  log=$log_dir/${name// /-}.log
  started=$SECONDS
  printf '== %s ... ' "$name"
  if "$@" >"$log" 2>&1; then
    printf 'done (%d s)\n' $((SECONDS - started))
  else
    local code=$?
    printf 'FAILED (exit %d)\n' "$code"
    tail -n 60 "$log"
    say "The whole output is in $log."
    exit "$code"
  fi
}

packages() { sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$root/scripts/packages.txt"; }

missing_packages() {
  local package
  for package in $(packages); do
    dpkg-query -W -f='${Status}\n' "$package" 2>/dev/null | grep -q '^install ok installed' ||
      say "$package"
  done
}

apt_install() {
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "$@"
}

install_packages() {
  command -v dpkg-query >/dev/null || { say "This script installs Debian packages; dpkg is missing. Install what scripts/packages.txt lists by hand."; exit 1; }
  local missing
  missing=$(missing_packages)
  [ -z "$missing" ] && return 0
  if [ "$(id -u)" -ne 0 ]; then
    say "These packages are missing: $(tr '\n' ' ' <<<"$missing")"
    say "Run this script as root once, or: apt-get install --no-install-recommends $(tr '\n' ' ' <<<"$missing")"
    exit 1
  fi
  # shellcheck disable=SC2086
  step "install packages" apt_install $missing
}

# lld's own folder, where g++ looks for it by its plain name.
linker_flags() {
  local lld
  lld=$(readlink -f "$(command -v ld.lld-19)") && say "-fuse-ld=lld -B$(dirname "$lld")"
}

configure_and_build() {
  # A build for one run: neighbouring sources share their headers' parsing, there is no debug
  # information (the "dev" preset has it), and the compiler has memory to spare. Together they take
  # two thirds off the build's time.
  step "configure" cmake -S "$root" -B "$build_dir" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=40 \
    "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O2 -DNDEBUG --param=ggc-min-heapsize=1000000 --param=ggc-min-expand=300" \
    "-DCMAKE_EXE_LINKER_FLAGS=$(linker_flags)" "-DCMAKE_SHARED_LINKER_FLAGS=$(linker_flags)" "$@"
  step "build" cmake --build "$build_dir" --parallel "$(nproc)"
}
