# measure --plan decisive:SCENARIO times what would most change the ranking, as far as it can here.
S="$TOP/traces/scenarios/origin.json"
"$UPDRAFT" measure --plan "decisive:$S" --backend synthetic -o t.jsonl 2>err; echo "exit $?"
tail -n 1 err
sed "s#\.\./recorded#$TOP/traces/recorded#" "$S" >s.json
python3 - <<'P'
import json
s = json.load(open("s.json"))
s["x_note"] = "the decision is between two implementations that the synthetic backend has"
s["allreduce"]["impl"] = "synthetic/linear"
s["costs"] = ["m.jsonl"]
json.dump(s, open("s.json", "w"))
P
"$UPDRAFT" measure --backend synthetic --ranks 8 --no-probes -o m.jsonl >/dev/null 2>&1
"$UPDRAFT" measure --plan decisive:s.json --backend synthetic --seed 1 -o d.jsonl >/dev/null 2>err; echo "exit $?"
grep -c cannot err >/dev/null && echo "what cannot be timed here is said"
python3 - <<'P'
import json
r = [json.loads(l) for l in open("d.jsonl")][1:]
r = [x for x in r if x.get("what") == "allreduce"]
print("only today's allreduce:", {x["impl"] for x in r} == {"synthetic/linear"}, "at the scenario's messages:", sorted({x["size_bytes"] for x in r}), "and ranks:", {x["ranks"] for x in r})
P
