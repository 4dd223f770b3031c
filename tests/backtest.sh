#!/bin/sh
# Compares the predictor's errors on traces/reference with traces/reference/results.csv, which changes
# only by a commit of its own. REWRITE=1 writes it. UPDRAFT names the binary.
set -eu
cd "$(dirname "$0")/.."
new=$(mktemp); trap 'rm -f "$new"' EXIT
"${UPDRAFT:-build/updraft}" backtest traces/reference --csv >"$new"
if [ -n "${REWRITE:-}" ]; then
    cp "$new" traces/reference/results.csv
    echo "traces/reference/results.csv written: commit it on its own, and say what moved it"
elif diff -u traces/reference/results.csv "$new"; then
    echo "backtest: as in traces/reference/results.csv"
else
    echo "backtest: the predictor's errors moved; if that is meant: REWRITE=1 make backtest" >&2
    exit 1
fi
