# Serving in events: agrees with the closed form, waits behind a cap, refuses nonsense.
s="$TOP/traces/scenarios/batch_cliff.json"
run() { "$UPDRAFT" simulate "$s" --draws 20 --set serve.prefill_tokens_per_s=5000 "$@"; }
run --set batch=8 --serve 2000 --prompt-tokens 1000 --output-tokens 300 --json | python3 -c '
import json, sys
d = json.load(sys.stdin)["serve"]
s = d["speculative"]
print("closed form within 1 %:", abs(s["steady_tokens_per_s"] / d["closed_form_tokens_per_s"] - 1) < 0.01)
print("tokens:", s["tokens"], "of", 2000 * 300)
print(sorted(d), sorted(s))'
printf 'arrival_s,prompt_tokens,output_tokens\n0,100,50\n0.1,200,20\n60,100,1\n' >day.csv
run --arrivals day.csv | sed -n '/^served/,$p'
echo "a cap makes them wait:"
for cap in 4 16; do
    run --set engine.max_running_requests=$cap --serve 300 --concurrency 64 --output-tokens 100 --json | python3 -c '
import json, sys
d = json.load(sys.stdin)["serve"]["speculative"]
print("cap %s: waiting %.0f, running %.0f" % (sys.argv[1], d["mean_waiting"], d["mean_running"]))' $cap
done
echo "a prefill of no known speed reads the weights once a chunk:"
"$UPDRAFT" simulate "$TOP/traces/scenarios/origin.json" --draws 20 --serve 20 --prompt-tokens 16384 --json |
    python3 -c '
import json, sys
d = json.load(sys.stdin)["serve"]
chunk_ms = 5.9e11 / 8 / (1.792e12 * 0.75) * 1e3
print("assumed:", d["prefill_assumed"], "; first token after two chunks:",
      0.9 < d["baseline"]["ttft_us"]["p50"] / (2e3 * chunk_ms) < 1.3, d["prefill_tokens_per_s"] < 1e6)'
echo "refusals:"
run --serve 0; echo "exit $?"
run --serve 10 --rate 1 --concurrency 2; echo "exit $?"
run --serve 10 --output-tokens x; echo "exit $?"
printf 'arrival_s,prompt_tokens,output_tokens\n5,100,50\n1,200,20\n' >back.csv
run --arrivals back.csv; echo "exit $?"
printf 'a,b\n1,2\n' >other.csv
run --arrivals other.csv; echo "exit $?"
