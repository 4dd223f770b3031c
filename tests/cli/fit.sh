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
for method in back_to_back graph; do
    for bytes in 8 1024 8192 65536; do
        echo "{\"what\":\"allreduce\",\"impl\":\"custom/x\",\"ranks\":4,\"size_bytes\":$bytes,\"latency_us\":$((5 + bytes / 4096)),\"method\":\"$method\",\"placement\":\"4 ranks on 1 GPU\"}"
    done
done | sed '1i{"updraft_trace":1}' > methods.jsonl
"$UPDRAFT" fit methods.jsonl | grep ranks # each by its method
"$UPDRAFT" predict methods.jsonl --impl custom/x --bytes 8192
run fit missing.jsonl
run fit "$TOP/tests" 2>&1
: > empty.jsonl; run fit empty.jsonl
printf '{"updraft_trace":1}\n' > header.jsonl; run fit header.jsonl
printf '{"updraft_trace":1}\n{"what":"allreduce","ranks":2,"size_bytes":8,"latency_us":NaN}\n' > nan.jsonl; run fit nan.jsonl
run fit
run fit "$box" --ranks 0
