# predict: from a model file and from a trace, sources, refusals.
run() { "$UPDRAFT" "$@"; echo "exit $?"; }
box=$TOP/tests/fixtures/fit/box.jsonl
"$UPDRAFT" fit "$box" -o model.json >/dev/null
run predict model.json --impl nccl/ring/ll --bytes 43008
run predict "$box" --impl nccl/ring/ll --bytes 43008
run predict model.json --impl nccl/ring/ll --bytes 16K --ranks 8
run predict model.json --impl custom/oneshot --bytes 64K --ranks 4
run predict model.json --impl custom/oneshot --bytes 64MiB --ranks 8
"$UPDRAFT" predict model.json --impl nccl/ring/ll --bytes 43008 --json | python3 -c '
import json, sys
p = json.load(sys.stdin)
print(sorted(p))
print(p["impl"], p["ranks"], p["bytes"], p["source"], p["ci95"][0] < p["latency_us"] < p["ci95"][1])'
run predict model.json --impl custom/oneshot --bytes 64K
run predict model.json --impl custom/oneshot --bytes 64K --ranks 2
run predict model.json --impl custom/never --bytes 64K
run predict model.json --impl nccl/ring/ll --bytes 64K --collective all_gather
run predict model.json --impl nccl/ring/ll
run predict model.json --impl nccl/ring/ll --bytes lots
run predict missing.json --impl nccl/ring/ll --bytes 64K
printf '{"updraft_model":1,"models":[{"impl":"a"' > cut.json; run predict cut.json --impl a --bytes 1
printf '{"updraft_model":1,\n"models":[{"impl":"a","typo":1}]}' > typo.json; run predict typo.json --impl a --bytes 1
