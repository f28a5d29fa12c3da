#!/usr/bin/env bash
# Take the README's pictures of the demo's report anew: its first screen, and one trial. Needs
# Chromium and a run: make demo first.
#
#   usage: scripts/screenshot.sh [run directory]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
run=${1:-runs/demo}
report=$PWD/$run/report.html
[ -f "$report" ] || { echo "no $report: make demo first" >&2; exit 1; }
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
    { echo "no Chromium on PATH" >&2; exit 1; }
profile=$(mktemp -d)
trap 'rm -rf "$profile"' EXIT

# picture NAME HEIGHT [HASH]: what the page shows once its script has run.
picture() {
    "$browser" --headless --no-sandbox --disable-gpu --no-first-run \
        --disable-background-networking --disable-component-update --disable-sync \
        --user-data-dir="$profile" --hide-scrollbars --force-device-scale-factor=1 \
        --virtual-time-budget=5000 --window-size="1280,$2" \
        --screenshot="$PWD/docs/$1.png" "file://$report${3:-}" 2>/dev/null
}

picture report 900
# The trial of the script `flaky` on question 4, where it leaves a column out.
picture trial 1340 "#trial=flaky%7C$(basename "$run")%7C4%7C0"
