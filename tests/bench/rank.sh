# Rank: all sets of 10, 12 and 20 options that all go together, on one and two threads.
scenario=$TOP/traces/scenarios/origin.json
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
catalogue() { # options: effects of five types in turn, no exclusions
    python3 - "$1" <<'P'
import json, sys
types = ["scale_latency", "scale_compute", "scale_host", "scale_accept", "add_latency"]
o = []
for i in range(int(sys.argv[1])):
    t = types[i % 5]
    e = {"type": t, "us": {"value": -0.3, "low": -1, "high": 0}} if t == "add_latency" else {"type": t, "factor": {"value": 0.97, "low": 0.9, "high": 1.01}}
    o.append({"id": "o%d" % i, "effects": [e], "effort_days": {"low": 1, "likely": 2, "high": 4}, "p_works": 0.9})
print(json.dumps({"updraft_catalogue": 1, "options": o}))
P
}
time_rank() { # options, draws, to reach
    catalogue $1 >"$dir/c$1.json"
    for threads in 1 2; do
        TIMEFORMAT="%R s (%U s of processor)"
        took=$({ time "$UPDRAFT" rank "$scenario" --catalogue "$dir/c$1.json" --draws $2 --threads $threads --json >"$dir/out"; } 2>&1)
        sets=$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["sets"]["allowed"])' "$dir/out")
        echo "rank: $1 options, $sets sets, $2 draws in $took with $threads thread(s) (to reach: $3 s on 2)"
    done
}
time_rank 10 10000 2
time_rank 12 2000 1
time_rank 20 2000 10
