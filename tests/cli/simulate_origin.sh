# The shipped case: keys promised for --json, and a breakdown that adds up.
"$UPDRAFT" simulate "$TOP/traces/scenarios/origin.json" --json >s.json || exit
python3 - <<'P'
import json
s = json.load(open("s.json"))
for k in ("baseline_tokens_per_s", "speculative_tokens_per_s", "speedup", "tokens_per_cycle", "cycle_us"):
    lo, hi = s["ci95"][k]
    assert lo <= s[k] <= hi, (k, lo, s[k], hi)
    print(k, "lies in its interval")
b = s["breakdown_us"]
print(sorted(b))
assert abs(sum(b.values()) - s["cycle_us"]) < 1e-6 * s["cycle_us"]
for k in b:
    lo, hi = s["ci95"]["breakdown_us"][k]
    assert lo <= hi
assert abs(s["speculative_tokens_per_s"] - s["tokens_per_cycle"] * 1e6 / s["cycle_us"]) < 1e-6
assert s["verify"]["allreduce_count"] == 122 and s["verify"]["message_bytes"] == 43008
assert 82 <= s["baseline_tokens_per_s"] <= 90
P
echo "python $?"
"$UPDRAFT" simulate "$TOP/traces/scenarios/origin.json" --json --threads 1 >one.json
"$UPDRAFT" simulate "$TOP/traces/scenarios/origin.json" --json --threads 2 >two.json
cmp one.json two.json && echo "same bytes for any number of threads"
"$UPDRAFT" simulate "$TOP/traces/scenarios/origin.json" --json --seed 2 >other.json
cmp -s one.json other.json || echo "another seed, other intervals"
for measured in 900 200 30; do
    "$UPDRAFT" simulate "$TOP/traces/scenarios/origin.json" --set measured.speculative_tokens_per_s=$measured --draws 200 |
        sed -n '/of each cycle/{n;p;}'
done
