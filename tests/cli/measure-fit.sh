# slow
# The quick plan on this host, from measuring to a model.
"$UPDRAFT" measure --backend cpu --ranks 2 -o t.jsonl >out 2>err && "$UPDRAFT" fit t.jsonl -o m.json >fit 2>>err
echo "exit $?"
grep -c '"verified":true' t.jsonl
for impl in cpu/oneshot cpu/twoshot; do
    "$UPDRAFT" predict m.json --impl $impl --bytes 43008 --ranks 2 --json | grep -o '"source":.*"[a-z]*"'
done
# A curve that is known comes back: 7 us + 200 us/MB.
"$UPDRAFT" measure --backend synthetic --ranks 8 --method graph --option seed=3 --option alpha_us=7 --option beta_us_per_byte=0.0002 \
    --plan full -o s.jsonl >/dev/null 2>&1
"$UPDRAFT" fit s.jsonl --json | python3 -c '
import json, sys
for m in json.load(sys.stdin)["models"]:
    a, b = m["ci95"]["alpha_us"], m["ci95"]["beta_us_per_byte"]
    print(m["impl"], m["ranks"], a[0] <= 7 <= a[1], b[0] <= 2e-4 <= b[1], abs(m["alpha_us"] / 7 - 1) < 0.01)'
