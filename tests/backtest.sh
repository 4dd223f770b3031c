#!/bin/sh
# Compares the predictor's errors on traces/reference with traces/reference/results.csv, which changes
# only by a commit of its own. REWRITE=1 writes it. UPDRAFT names the binary.
set -eu
cd "$(dirname "$0")/.."
new=$(mktemp); doc=$(mktemp); trap 'rm -f "$new" "$doc"' EXIT
"${UPDRAFT:-build/updraft}" backtest traces/reference --csv >"$new"
# docs/accuracy.md holds the same table between two marks.
{
    sed '/<!-- backtest -->/q' docs/accuracy.md
    "${UPDRAFT:-build/updraft}" backtest traces/reference --markdown
    sed -n '/<!-- end -->/,$p' docs/accuracy.md
} >"$doc"
if [ -n "${REWRITE:-}" ]; then
    cp "$new" traces/reference/results.csv
    cp "$doc" docs/accuracy.md
    echo "traces/reference/results.csv written: commit it on its own, and say what moved it"
elif diff -u traces/reference/results.csv "$new" && diff -u docs/accuracy.md "$doc"; then
    echo "backtest: as in traces/reference/results.csv and docs/accuracy.md"
else
    echo "backtest: the predictor's errors moved; if that is meant: REWRITE=1 make backtest" >&2
    exit 1
fi
