#!/usr/bin/env bash
# Take the README's picture of the demo's report anew. Needs Chromium and a run: make demo first.
#
#   usage: scripts/screenshot.sh [run directory]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
report=$PWD/${1:-runs/demo}/report.html
[ -f "$report" ] || { echo "no $report: make demo first" >&2; exit 1; }
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
    { echo "no Chromium on PATH" >&2; exit 1; }
profile=$(mktemp -d)
trap 'rm -rf "$profile"' EXIT
"$browser" --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking \
    --disable-component-update --disable-sync --user-data-dir="$profile" --hide-scrollbars \
    --force-device-scale-factor=1 --window-size=1280,1000 --screenshot="$PWD/docs/report.png" \
    "file://$report" 2>/dev/null
