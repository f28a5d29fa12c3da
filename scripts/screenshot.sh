#!/usr/bin/env bash
# Take the README's pictures anew: the demo's first screen, one of its trials, and the charts over
# scale factors of a small sweep on SQLite. Runs both where they are missing or unfinished (some
# minutes), into runs/demo and runs/screenshot. Needs Chromium on PATH, and make setup-dev.
#
#   usage: scripts/screenshot.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PATH=$PWD/.venv/bin:$PATH

bothends demo
# The flaky model is the cheaper one where the engine's work is little, the exact one where it is
# more: prices and the machine's hour are chosen so that they change places.
bothends sweep --suite tpch --engine sqlite --question 3,4,6,12 --scale-factors 0.01,0.02,0.04 \
    --machine 900 --replicas 2 --warmups 0 --repeats 1 --out runs/screenshot \
    --model 'scripted:perfect?label=exact&price_as=openai:gpt-4o' \
    --model 'scripted:flaky?label=flaky&p=0.5&seed=7&price_as=openai:gpt-4o-mini' \
    --model 'scripted:extra_column?label=wide&price_as=anthropic:claude-sonnet-4-5'
python scripts/pictures.py runs/demo/report.html runs/screenshot/report.html docs
