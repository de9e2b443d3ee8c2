#!/usr/bin/env bash
# One night of a self-hosted GPU runner: is it fit, measure, judge, compare with the baseline, say it, keep it.
#   scripts/ci/nightly.sh [--preflight-only | --accept]
# --preflight-only looks for a minute and measures nothing. --accept empties the baseline, after a change that is meant
# to stay: the next good nights make a new one. Settings are environment variables (docs/ci.md has the list):
#   CLAIMCHECK_PROGRAM        the claimcheck to use [on PATH, else built here]
#   CLAIMCHECK_STATE          kept from night to night: baseline/, history/ [~/.local/state/claimcheck]
#   CLAIMCHECK_OUT            this night's files, for the artifact [./claimcheck-nightly]
#   CLAIMCHECK_PROFILE        quick, standard or soak [standard]
#   CLAIMCHECK_BUDGET, CLAIMCHECK_DEVICE, CLAIMCHECK_INSTANCE, CLAIMCHECK_OFFER, CLAIMCHECK_ONLY
#                             as the options of `claimcheck run`
#   CLAIMCHECK_CLAIMS         claims to judge, one a line
#   CLAIMCHECK_MAX_REGRESSION loss that is still accepted [5%]
#   CLAIMCHECK_BASELINE_RUNS  good nights that make the baseline [5]
#   CLAIMCHECK_KEEP           nights kept in history/ [400]
#   CLAIMCHECK_PREFLIGHT      strict: warnings stop it too; off: measure whatever it says [on]
# Exit: 0 good, 1 a claim not met or a regression, 2 bad settings, 3 no device, 4 not fit, not finished or not compared.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
state=${CLAIMCHECK_STATE:-${XDG_STATE_HOME:-${HOME:?HOME is not set: set CLAIMCHECK_STATE}/.local/state}/claimcheck}
out=${CLAIMCHECK_OUT:-claimcheck-nightly}
runs=${CLAIMCHECK_BASELINE_RUNS:-5}
keep=${CLAIMCHECK_KEEP:-400}
preflight=${CLAIMCHECK_PREFLIGHT:-on}
mode=night
summary=

say() { printf 'nightly: %s\n' "$*" >&2; }
fail() { # CODE SENTENCE
  say "$2"
  annotate error "$2"
  exit "$1"
}

# One line of GitHub's workflow commands, its text escaped.
annotate() { # LEVEL SENTENCE
  local text=${2//'%'/%25}
  text=${text//$'\r'/%0D}
  printf '::%s title=claimcheck nightly::%s\n' "$1" "${text//$'\n'/%0A}"
}

# What stands between the two is for people: nothing in it may be taken for a workflow command.
token=
commands_off() {
  [[ ${GITHUB_ACTIONS:-} == true ]] || return 0
  token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  printf '::stop-commands::%s\n' "$token"
}
commands_on() { [[ -z $token ]] || printf '\n::%s::\n' "$token"; }

# Sets `code` to how COMMAND ended. A signal to this script goes on to it, so that a cancelled job keeps what was
# measured.
forward() {
  local child
  "$@" &
  child=$!
  trap 'kill -TERM "$child" 2>/dev/null || true' INT TERM
  code=0
  wait "$child" || code=$?
  if ((code > 128)) && kill -0 "$child" 2>/dev/null; then # the wait was interrupted, not the child
    code=0
    wait "$child" || code=$?
  fi
  trap - INT TERM
}

# Most important first: bad settings and no device, then what is not met, then what stays open.
worse() { # CODE CODE
  local one
  for one in 2 3 1 4; do
    if [[ $1 == "$one" || $2 == "$one" ]]; then echo "$one"; return; fi
  done
  if [[ $1 != 0 ]]; then echo "$1"; else echo "$2"; fi
}

number() { # NAME VALUE
  [[ $2 =~ ^[1-9][0-9]{0,4}$ ]] || fail 2 "$1='$2': expected a whole number from 1"
}

find_program() {
  if [[ -n ${CLAIMCHECK_PROGRAM:-} ]]; then
    [[ -x $CLAIMCHECK_PROGRAM ]] || fail 2 "CLAIMCHECK_PROGRAM='$CLAIMCHECK_PROGRAM': no program there"
    program=$CLAIMCHECK_PROGRAM
  elif command -v claimcheck >/dev/null; then
    program=$(command -v claimcheck)
  else
    program=$root/build/release/bin/claimcheck
    "$root/scripts/setup.sh" --run >&2
    "$root/scripts/build.sh" release -DCLAIMCHECK_TESTS=OFF -- claimcheck workers >&2
  fi
}

# Two jobs on one machine would measure each other. Held until this script ends.
lock() {
  mkdir -p "$state/baseline" "$state/history" || fail 2 "CLAIMCHECK_STATE='$state': cannot make folders there"
  exec 9>"$state/lock"
  flock -w 30 9 || fail 4 "another nightly run holds $state/lock: two at once would disturb each other"
}

# Files of an earlier night go; anybody else's stay.
prepare_out() {
  mkdir -p "$out" || fail 2 "CLAIMCHECK_OUT='$out': cannot make this folder"
  out=$(cd "$out" && pwd)
  if [[ ! -e $out/.claimcheck-nightly && -n $(ls -A "$out") ]]; then
    fail 2 "CLAIMCHECK_OUT='$out': holds files that no nightly run made; give an empty folder"
  fi
  : >"$out/.claimcheck-nightly"
  rm -rf -- "$out"/run "$out"/*.md "$out"/*.json "$out"/*.html "$out"/*.xml "$out"/*.txt
}

look() {
  local options=(--out "$out") status=0
  [[ -z ${CLAIMCHECK_DEVICE:-} ]] || options+=(--device "$CLAIMCHECK_DEVICE")
  [[ $preflight != strict ]] || options+=(--strict)
  "$program" preflight "${options[@]}" --format annotations || status=$?
  [[ ! -f $out/preflight.md ]] || cat "$out/preflight.md" >>"$summary"
  return "$status"
}

measure() {
  local options=(--profile "${CLAIMCHECK_PROFILE:-standard}" --out "$out/run") claim name
  for name in BUDGET DEVICE INSTANCE OFFER ONLY; do
    local variable=CLAIMCHECK_$name
    [[ -z ${!variable:-} ]] || options+=("--${name,,}" "${!variable}")
  done
  while IFS= read -r claim; do
    [[ -z ${claim//[[:space:]]/} ]] || options+=(--claim "$claim")
  done <<<"${CLAIMCHECK_CLAIMS:-}"
  commands_off
  forward "$program" run "${options[@]}"
  commands_on
}

# A report that cannot be written costs itself, not the comparison.
report() { # RESULT
  local format file
  for format in md html junit; do
    file=$out/report.$format
    [[ $format != junit ]] || file=$out/junit.xml
    "$program" report "$1" --format "$format" --output "$file" || annotate warning "no report in format $format"
  done
  if [[ -f $out/report.md ]]; then
    printf '\n' >>"$summary"
    cat "$out/report.md" >>"$summary"
  fi
  "$program" report "$1" --format annotations || annotate warning "no annotations of this result"
}

compare() { # RESULT; sets `code`
  local files=() file options=()
  for file in "$state"/baseline/*.json; do
    [[ -f $file ]] && files+=("$file") && options+=(--baseline "$file")
  done
  code=0
  if ((${#files[@]} == 0)); then
    annotate notice "no baseline in $state/baseline yet: this night begins one"
    printf '\nNo baseline yet: this night begins one.\n' >>"$summary"
    return
  fi
  options+=(--max-regression "${CLAIMCHECK_MAX_REGRESSION:-5%}")
  "$program" compare "${options[@]}" "$1" --format json --output "$out/compare.json" || code=$?
  [[ $code == 2 ]] && return
  "$program" compare "${options[@]}" "$1" --format md --output "$out/compare.md" || true
  { printf '\n'; cat "$out/compare.md"; } >>"$summary"
  "$program" compare "${options[@]}" "$1" --format annotations || true
}

# The baseline is the first good nights, and stays: one that moved on would let a machine become slower bit by bit.
store() { # RESULT GOOD
  local name files
  name=$(date -u +%Y%m%dT%H%M%S.%3NZ) # two nights can end in one second
  mkdir -p "$state/history/$name"
  cp "$1" "$state/history/$name/result.json"
  files=("$state"/baseline/*.json)
  [[ -f ${files[0]} ]] || files=()
  if [[ $2 == yes ]] && ((${#files[@]} < runs)); then
    cp "$1" "$state/baseline/.$name.part"
    mv "$state/baseline/.$name.part" "$state/baseline/$name.json"
  fi
  files=("$state"/history/*/)
  while ((${#files[@]} > keep)); do # names are times, so the first is the oldest
    rm -r -- "${files[0]}"
    files=("${files[@]:1}")
  done
}

trend() {
  "$program" history "$state/history" --html "$out/history.html" >"$out/history.txt" 2>/dev/null || return 0
  { printf '\n<details><summary>History</summary>\n\n~~~text\n'; cat "$out/history.txt"; printf '~~~\n</details>\n'; } >>"$summary"
}

finish() { # CODE
  if [[ -n ${GITHUB_STEP_SUMMARY:-} ]]; then
    head -c 1000000 "$summary" >>"$GITHUB_STEP_SUMMARY" # a longer one is refused as a whole
  fi
  if [[ -n ${GITHUB_OUTPUT:-} ]]; then printf 'exit-code=%s\nout=%s\n' "$1" "$out" >>"$GITHUB_OUTPUT"; fi
  say "exit $1; files in $out"
  exit "$1"
}

case $# in
  0) ;;
  1)
    case $1 in
      --preflight-only) mode=preflight ;;
      --accept) mode=accept ;;
      --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; exit 0 ;;
      *) fail 2 "unknown option '$1': --preflight-only, --accept and --help are known" ;;
    esac
    ;;
  *) fail 2 "one option at most: --preflight-only, --accept or --help" ;;
esac
number CLAIMCHECK_BASELINE_RUNS "$runs"
number CLAIMCHECK_KEEP "$keep"
[[ $preflight =~ ^(on|off|strict)$ ]] || fail 2 "CLAIMCHECK_PREFLIGHT='$preflight': expected on, strict or off"

lock
if [[ $mode == accept ]]; then
  rm -f -- "$state"/baseline/*.json
  say "the baseline in $state/baseline is empty; the next $runs good nights make a new one"
  exit 0
fi
find_program
prepare_out
summary=$out/summary.md
: >"$summary"

if [[ $preflight != off || $mode == preflight ]]; then
  fit=0
  look || fit=$?
  if [[ $mode == preflight ]]; then finish "$fit"; fi
  if [[ $fit != 0 ]]; then
    annotate error "nothing was measured: the preflight ended with exit $fit"
    finish "$fit"
  fi
fi

code=0
measure
measured=$code
result=$out/run/result.json
if [[ ! -f $result ]]; then
  annotate error "claimcheck run ended with exit $measured and left no result"
  finish "$(worse "$measured" 4)"
fi
report "$result"
compare "$result"
good=no
[[ $code == 0 && $measured =~ ^[014]$ ]] && good=yes
store "$result" "$good"
trend
finish "$(worse "$measured" "$code")"
