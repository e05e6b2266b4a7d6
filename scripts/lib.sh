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

configure_and_build() {
  # A build for one run: neighbouring sources share their headers' parsing, and line tables are all
  # that a failure report needs of debug information. Together they halve the build's time.
  step "configure" cmake -S "$root" -B "$build_dir" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DCMAKE_UNITY_BUILD=ON "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O2 -g1 -DNDEBUG" "$@"
  step "build" cmake --build "$build_dir" --parallel "$(nproc)"
}
