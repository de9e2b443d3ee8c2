#!/usr/bin/env bash
# Writes cloud-init user data that installs and runs claimcheck at first boot, uploads the results and stops the machine.
#   scripts/cloud/user-data.sh --package-url URL --sha256 HEX [--ttl MINUTES] [--results URL] [--stop poweroff|azure]
#                              [-- ARGUMENTS OF claimcheck run] >user-data
# The Terraform modules beside this call it; with any other tool, hand its output over as user data.
set -euo pipefail

usage() { printf 'user-data: %s\n' "$*" >&2; exit 2; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
package_url='' sha256='' ttl=30 results='' stop=poweroff
while (($#)); do
  case $1 in
    --package-url | --sha256 | --ttl | --results | --stop)
      (($# > 1)) || usage "$1: a value is missing"
      name=${1#--}
      declare "${name//-/_}=$2"
      shift 2
      ;;
    --) shift; break ;;
    *) usage "unknown option '$1': --package-url, --sha256, --ttl, --results, --stop and -- are known" ;;
  esac
done
[[ $package_url == https://* || $package_url == http://127.0.0.1:* ]] || usage "--package-url '$package_url': expected https"
[[ $sha256 =~ ^[0-9a-f]{64}$ ]] || usage "--sha256 '$sha256': expected 64 hexadecimal digits"
if ! [[ $ttl =~ ^[0-9]{1,4}$ ]] || ((10#$ttl < 5 || 10#$ttl > 1440)); then
  usage "--ttl '$ttl': expected 5 to 1440 minutes"
fi
[[ $stop == poweroff || $stop == azure ]] || usage "--stop '$stop': expected poweroff or azure"
(($#)) || set -- --budget 5m
for argument in "$@"; do [[ $argument != *$'\n'* ]] || usage "an argument has a line break"; done

file() { # PATH MODE, content on stdin
  printf '  - path: %s\n    permissions: "%s"\n    encoding: b64\n    content: %s\n' "$1" "$2" "$(base64 -w 0)"
}

# Base64 carries all of it, so that nothing in a URL or an argument means anything to YAML or to a shell.
echo "#cloud-config"
echo "write_files:"
file /etc/claimcheck/on-boot.env 0600 < <(
  printf '%s=%q\n' PACKAGE_URL "$package_url" PACKAGE_SHA256 "$sha256" TTL_MINUTES "$ttl" RESULTS "$results" STOP "$stop")
file /etc/claimcheck/arguments 0644 < <(printf '%s\n' "$@")
file /opt/claimcheck-boot/bootstrap.sh 0755 <"$here/../bootstrap.sh"
file /opt/claimcheck-boot/on-boot.sh 0755 <"$here/on-boot.sh"
[[ $stop != azure ]] || file /opt/claimcheck-boot/azure-deallocate.sh 0755 <"$here/azure-deallocate.sh"
echo "runcmd:"
echo "  - [/opt/claimcheck-boot/on-boot.sh]"
