# The sweep of the shipped case over draft length and allreduce count.
"$UPDRAFT" sweep "$TOP/traces/scenarios/origin.json" --vary draft.num_steps=1:8 --vary allreduce.count=0:244:2 >grid.csv || exit
wc -l <grid.csv
head -n 1 grid.csv
python3 - <<'P'
import csv
rows = list(csv.DictReader(open("grid.csv")))
assert len(rows) == 8 * 123
for r in rows:
    parts = sum(float(r[k]) for k in ("draft_us", "verify_compute_us", "verify_allreduce_us", "draft_allreduce_us", "host_us"))
    assert abs(parts - float(r["cycle_us"])) < 1e-5 * parts
# Throughput falls with the count; verify_allreduce is linear in it.
for k in range(8):
    part = rows[k * 123:(k + 1) * 123]
    v = [float(r["verify_allreduce_us"]) for r in part]
    steps = [b - a for a, b in zip(v, v[1:])]
    assert max(steps) - min(steps) < 1e-2, (min(steps), max(steps))
    t = [float(r["speculative_tokens_per_s"]) for r in part]
    assert all(a > b for a, b in zip(t, t[1:]))
P
echo "python $?"
"$UPDRAFT" sweep "$TOP/traces/scenarios/origin.json" --vary draft.num_steps=1:8 --vary allreduce.count=0:244:2 --threads 1 | cmp - grid.csv && echo "same bytes for any number of threads"
"$UPDRAFT" sweep "$TOP/traces/scenarios/origin.json" --vary allreduce.impl=nccl/ring/ll,custom/oneshot --vary batch=1:300 >grid.csv
"$UPDRAFT" sweep "$TOP/traces/scenarios/origin.json" --vary allreduce.impl=nccl/ring/ll,custom/oneshot --vary batch=1:300 --json >grid.json
python3 - <<'P'
import csv, json
rows, points = list(csv.DictReader(open("grid.csv"))), json.load(open("grid.json"))["points"]
assert len(rows) == len(points) == 600
for r, p in zip(rows, points):
    assert list(r) == list(p)
    assert all(v is None and r[k] == "" or str(v) == r[k] or float(r[k]) == v for k, v in p.items()), (r, p)
P
echo "json: $?"
"$UPDRAFT" sweep "$TOP/traces/scenarios/origin.json" --vary batch=1,4 | awk -F, 'NR > 1 {print ($4 != "" && $4 < $3 && $3 < $5) ? "interval" : "none"}'
"$UPDRAFT" sweep "$TOP/traces/scenarios/origin.json" --vary batch=1 --vary batch=2; echo "the same key twice: $?"
