#!/usr/bin/env bash
# The first boot of a rented machine, as root, started by cloud-init: arms the time to live first, then installs and runs
# claimcheck, uploads the results, and stops the machine, whatever happened. Settings: /etc/claimcheck/on-boot.env
#   PACKAGE_URL, PACKAGE_SHA256    what bootstrap.sh installs
#   TTL_MINUTES                    the machine stops by then at the latest
#   STOP                           poweroff, or azure: deallocated through its management API, since a machine that is only
#                                  shut down there is still paid for
#   RESULTS                        s3://..., gs://..., an https URL that takes a PUT (with its signature), or empty
# and /etc/claimcheck/arguments, an argument of `claimcheck run` a line. FOLDER is for tests.
set -uo pipefail

folder=${FOLDER:-/etc/claimcheck}
log() { printf 'on-boot: %s\n' "$*"; }
# shellcheck disable=SC1091 # written by cloud-init
. "$folder/on-boot.env"
: "${TTL_MINUTES:?}" "${PACKAGE_URL:?}" "${PACKAGE_SHA256:?}"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${OUT:-/var/lib/claimcheck}

stop() {
  if [[ ${STOP:-poweroff} == azure ]]; then "$here/azure-deallocate.sh" && return; fi
  shutdown -P now
}

if [[ ${1:-} == stop ]]; then
  stop
  exit
fi

# A machine that cannot be stopped by hand must stop by itself: before anything else, and without relying on this script.
systemd-run --quiet --unit=claimcheck-ttl --on-active="${TTL_MINUTES}m" "${BASH_SOURCE[0]}" stop ||
  shutdown -P "+$TTL_MINUTES"
log "this machine stops in $TTL_MINUTES minutes at the latest"
trap stop EXIT

mkdir -p "$out"
mapfile -t arguments <"$folder/arguments"
# Images with a driver load it while cloud-init already runs.
for ((i = 0; i < 60; ++i)); do
  [[ ! -e /proc/driver/nvidia/version ]] || break
  sleep "${WAIT_SECONDS:-1}"
done
code=0
"$here/bootstrap.sh" --package "$PACKAGE_URL" --sha256 "$PACKAGE_SHA256" --prefix "$out/claimcheck" \
  -- --out "$out/results" "${arguments[@]}" >"$out/claimcheck.txt" 2>"$out/claimcheck.log" || code=$?
echo "$code" >"$out/exit-code"
tar -C "$out" -czf "$out/results.tar.gz" --ignore-failed-read results claimcheck.txt claimcheck.log exit-code
case ${RESULTS:-} in
  '') ;;
  s3://*) aws s3 cp --only-show-errors "$out/results.tar.gz" "$RESULTS" ;;
  gs://*) gcloud storage cp "$out/results.tar.gz" "$RESULTS" ;;
  https://* | http://127.0.0.1:*)
    curl -fsS --retry 3 -X PUT -H 'x-ms-blob-type: BlockBlob' --data-binary "@$out/results.tar.gz" "$RESULTS"
    ;;
  *) log "RESULTS='$RESULTS' is no place to upload to: s3://, gs:// and https:// are known" ;;
esac || log "the results could not be uploaded; they are in $out until the machine is gone"
log "exit code $code"
