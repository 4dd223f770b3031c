# slow
# The public curves, where they are present: better than log-log interpolation and than a line in the
# median, and intervals that hold what they say.
[ -n "$SHARED_DATA" ] || { echo "no public data"; exit 77; }
for folder in ar-tables nccl-tests; do
    "$UPDRAFT" backtest "$SHARED_DATA/$folder" --json
done | python3 -c '
import json, sys
text, at, bad = sys.stdin.read().strip(), 0, 0
while at < len(text):
    d, end = json.JSONDecoder().raw_decode(text, at)
    at = end + len(text[end:]) - len(text[end:].lstrip())
    for t in d["tables"]:
        if not t["table"].startswith("allreduce curves"):
            continue
        ours, others = t["median_rel_error"], [t["naive"]["median_rel_error"]] + [n["median_rel_error"] for n in t["more_naive"]]
        bad += ours > min(others) * 1.02 or not t["interval_coverage"] >= 0.90
print("worse than a naive formula, or intervals too narrow:", bad)'
