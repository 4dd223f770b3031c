# Every public table of allreduce latencies: the same sizes, ranks and times as an independent reader
# takes from it, and NCCL where a label claims a custom kernel on more than two PCIe GPUs. Matrices and
# server logs: each is recognised, and gives something.
[ -n "$SHARED_DATA" ] || { echo "no public data"; exit 77; }
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
for f in "$SHARED_DATA"/ar-tables/*.csv; do "$UPDRAFT" import "$f" >"$(basename "$f").trace" 2>/dev/null; done
python3 - "$SHARED_DATA/ar-tables" <<'PY'
import collections, csv, glob, json, math, os, sys
names = {"all_reduce": "allreduce"}
width = {"half": 2, "bfloat16": 2, "int8": 1, "float": 4}
bad = tables = 0
for path in sorted(glob.glob(sys.argv[1] + "/*.csv")):
    rows = list(csv.DictReader(open(path)))
    want = collections.Counter()
    if "message_size" in rows[0]:
        for r in rows:
            kernel = r["kernel_source"]
            if kernel.endswith("_eager"):
                continue
            pcie = any(x in r.get("device", "") for x in ("L40S", "RTX"))
            is_nccl = kernel == "NCCL" or (pcie and int(r["num_gpus"]) > 2 and not kernel.startswith("TRT"))
            size = int(r["message_size"]) * width[r.get("allreduce_dtype") or r["nccl_dtype"]]
            want[names.get(r["op_name"], r["op_name"]), int(r["num_gpus"]), size,
                 f"{float(r['latency']) * 1e3:.6g}", is_nccl] += 1
    elif "time_stats.all_reduce.median" in rows[0]:
        for r in rows:
            want["allreduce", int(r["num_workers"]), int(r["size"]),
                 f"{float(r['time_stats.all_reduce.median']) * 1e3:.6g}", True] += 1
    elif "size(kb)" in rows[0]:
        for r in rows:
            if float(r["size(kb)"]) > 0:
                want["allreduce", int(r["num_nodes"]) * int(r["num_gpus_per_node"]), int(float(r["size(kb)"]) * 1024),
                     f"{float(r['time(us)']):.6g}", True] += 1
    else:
        continue
    tables += 1
    got, defaults = collections.Counter(), {}
    for line in map(json.loads, open(os.path.basename(path) + ".trace")):
        if "defaults" in line:
            defaults = line["defaults"]
        if "what" in line:
            r = {**defaults, **line}
            got[r["what"], r["ranks"], r["size_bytes"], f"{r['latency_us']:.6g}", r["impl"].startswith("nccl/")] += 1
    if got != want:
        bad = 1
        print(os.path.basename(path), list((want - got).items())[:3], list((got - want).items())[:3])
if tables < 30:
    print(f"only {tables} tables")
elif not bad:
    print("all agree")
PY
for f in "$SHARED_DATA"/p2p/*.txt "$SHARED_DATA"/engine-logs/*_decode_log*.txt "$SHARED_DATA"/engine-logs/vllm_v1_*metrics*.txt; do
    "$UPDRAFT" import --json "$f" 2>/dev/null |
        python3 -c 'import json, sys; f = json.load(sys.stdin)["files"][0]; print(f["format"], "with records" if f["records"] else "EMPTY")'
done | sort | uniq -c | sed 's/^ *[0-9]* //'
