# fit: models, the model file, steps and outliers named, refusals.
run() { "$UPDRAFT" "$@"; echo "exit $?"; }
box=$TOP/tests/fixtures/fit/box.jsonl
run fit "$box"
run fit "$box" --impl nccl/ring/ll -o model.json
python3 - <<'P'
import json
m = json.load(open("model.json"))
(f,) = m["models"]
print(sorted(f))
print(f["impl"], f["ranks"], f["form"], f["points"], [c["form"] for c in f["contenders"]])
print([(o["kind"], o["bytes"], o["latency_us"], o["expected_us"] < 30) for o in f["outliers"]])
print([(s["from_bytes"], s["to_bytes"]) for s in f["steps"]])
P
run fit "$box" --json --impl custom/twoshot
run fit "$box" --impl custom/never
head -n 3 "$box" > one.jsonl; run fit one.jsonl
run fit missing.jsonl
run fit "$TOP/tests" 2>&1
: > empty.jsonl; run fit empty.jsonl
printf '{"updraft_trace":1}\n' > header.jsonl; run fit header.jsonl
printf '{"updraft_trace":1}\n{"what":"allreduce","ranks":2,"size_bytes":8,"latency_us":NaN}\n' > nan.jsonl; run fit nan.jsonl
run fit
run fit "$box" --ranks 0
