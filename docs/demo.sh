#!/usr/bin/env bash
# The main job on the recordings that ship: make demo. Prints every command that it runs.
# B names the build folder; pictures, models and the page are left in $B/demo.
set -euo pipefail
cd "$(dirname "$0")/.."
B=${B:-build}
demo=$B/demo
scenario=traces/scenarios/origin.json
recording=traces/recorded/rtx_pro_6000_8gpu_switches.jsonl
mkdir -p "$demo"
export COLUMNS=${COLUMNS:-110}
say() { printf '\n== %s\n' "$*"; }
run() {
    printf '\n$ updraft'
    printf ' %s' "$@"
    printf '\n'
    "$B/updraft" "$@"
}

say "A table that nccl-tests printed becomes a trace"
run import docs/demo/all_reduce_perf.txt -o "$demo/nccl.jsonl"
say "Measurements become models, with what leaving one size out would have cost"
run fit "$recording" -o "$demo/model.json" --json
run fit "$recording"
run predict "$demo/model.json" --impl nccl/ring/ll --bytes 43008 --ranks 8
run crossover "$demo/model.json"
say "What EAGLE-3 gives on this box: 122 allreduces of 43,008 bytes per verify"
run simulate "$scenario"
say "What if an allreduce took 9 us?"
run simulate "$scenario" --set allreduce.latency_us=9
say "A grid: draft length by number of allreduces"
run sweep "$scenario" --vary draft.num_steps=1:8 --vary allreduce.count=0:244:2 -o "$demo/sweep.csv"
echo "$(($(wc -l <"$demo/sweep.csv") - 1)) points in $demo/sweep.csv; the first:"
head -n 3 "$demo/sweep.csv"
say "Pictures"
for kind in latency draft count breakdown; do
    run plot $kind "$scenario" -o "$demo/$kind.png"
    run plot $kind "$scenario" -o "$demo/$kind.svg"
done
run plot rank "$scenario" -o "$demo/rank.png"
run plot rank "$scenario" -o "$demo/rank.svg"
run plot rank "$scenario" --top 12 -o "$demo/rank_top.png"
run plot crossover "$demo/model.json" -o "$demo/crossover.png"
run plot fabric epyc-2s --impl custom/twoshot -o "$demo/fabric.png"
run report "$scenario" -o "$demo/report.html"
say "The cycle, in the terminal"
run plot breakdown "$scenario"
say "Which optimization first?"
run plot rank "$scenario" --top 12
run rank "$scenario"
printf '\nPictures and the page: %s\n' "$demo"
