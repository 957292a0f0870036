# What the scripts that fetch from npm share: messages, a scratch folder, checks, and folders that are complete or not
# there. Sourced, not run; the script that sources it has set `deps`.
# shellcheck shell=bash

say() { printf '%s\n' "$*" >&2; }
die() {
  say "$(basename "$0"): $*"
  exit 1
}

work=
cleanup() { if [ -n "$work" ]; then rm -rf "$work"; fi; }
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Makes $work, a scratch folder beside what is fetched.
start_work() {
  mkdir -p "$deps" 2>/dev/null || die "cannot create $deps"
  work=$(mktemp -d "$deps/.fetching-XXXXXX" 2>/dev/null) || die "cannot write to $deps"
}

# is_fetched FOLDER STAMP: a folder is complete when its stamp is this one; the stamp is written before the folder gets
# its name.
is_fetched() { [ "$(cat "$deps/$1/.fetched" 2>/dev/null)" = "$2" ]; }

# place FOLDER STAMP: gives the finished $work/FOLDER its place.
place() {
  echo "$2" >"$work/$1/.fetched"
  if [ -e "$deps/$1" ]; then
    mv "$deps/$1" "$work/old-$1"
  fi
  mv "$work/$1" "$deps/$1"
}

need_space() {  # need_space MEGABYTES
  local free
  free=$(df -Pk "$deps" | awk 'NR == 2 {print int($4 / 1024)}')
  if [ "${free:-$1}" -lt "$1" ]; then
    die "not enough disk space in $deps: $1 MB are needed and $free MB are free"
  fi
}

sha256_of() {
  if command -v sha256sum >/dev/null; then
    sha256sum "$1"
  else
    shasum -a 256 "$1"
  fi | awk '{print $1}'
}

need_npm() {  # need_npm WHAT ADVICE
  command -v npm >/dev/null || die "npm is needed to fetch $1 and is not installed: run scripts/install-deps, or $2"
}

# run_npm WHAT COMMAND...: npm, quietly; where it fails, one sentence says why.
run_npm() {
  local what=$1 log=$work/npm.log
  shift
  npm "$@" --ignore-scripts --prefer-offline --no-update-notifier \
    --fetch-retries=2 --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=5000 >"$log" 2>&1 || explain_npm_failure "$what" "$log"
}

explain_npm_failure() {  # WHAT LOG
  local what="could not fetch $1"
  if grep -qE 'ENOSPC' "$2"; then
    die "$what: the disk is full"
  elif grep -qE 'EINTEGRITY' "$2"; then
    die "$what: checksum mismatch, npm received a damaged archive; run \"npm cache clean --force\" and try again"
  elif grep -qE 'E404|ETARGET|ENOVERSIONS' "$2"; then
    die "$what: the npm registry in use does not have it"
  elif grep -qE 'ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT|FETCH_ERROR|ENOTCACHED' "$2"; then
    die "$what: the npm registry cannot be reached; check the network and try again"
  fi
  tail -n 5 "$2" >&2
  die "$what: npm failed as shown above"
}

# The reason in a tool's log; an empty log means that not even the log could be written.
last_line() {
  local line
  line=$(tail -n 1 "$1")
  echo "${line:-is the disk full?}"
}
