# The origin case: order, reasons and keys; figures are looked at, not compared byte by byte.
S="$TOP/traces/scenarios/origin.json"
"$UPDRAFT" rank "$S" --json --draws 800 --threads 1 >a.json
"$UPDRAFT" rank "$S" --json --draws 800 --threads 2 >b.json
cmp a.json b.json && echo "the same bytes for one and two threads"
python3 - <<'P'
import json
d = json.load(open("a.json"))
o = {x["id"]: x for x in d["optimizations"]}
ids = [x["id"] for x in d["optimizations"]]
keys = "id rank status reason tokens_per_s gain gain_ci95 effort_days gain_per_day p_best".split()
print("every key:", all(k in x for x in d["optimizations"] for k in keys))
print("ranks count from 1:", [x["rank"] for x in d["optimizations"]] == list(range(1, len(ids) + 1)))
print("at least 25 options:", len(ids) >= 25)
print("two-shot before fewer channels:", ids.index("custom_twoshot") < ids.index("nccl_fewer_channels"))
low, high = o["nccl_fewer_channels"]["gain_ci95"]
print("fewer channels, 0 in the interval:", low <= 0 <= high, "|", o["nccl_fewer_channels"]["reason"][:96])
print("fewer channels, bytes saved:", -o["nccl_fewer_channels"]["memory_change_bytes"] > 5e8)
print("fusion:", o["flashinfer_fusion"]["status"], "12.x" in o["flashinfer_fusion"]["reason"])
print("one-shot is a coin flip:", o["custom_oneshot"]["coin_flip"], 43008 < o["custom_oneshot"]["crossover_bytes"] < 80000)
print("LL128:", o["nccl_ll128"]["status"])
first = [x for x in d["optimizations"] if x["status"] != "blocked" and x["id"] != "fused_ar_rmsnorm"]
print("P(best) adds up to 1:", abs(sum(x["p_best"] for x in first) + d["p_today_best"] - 1) < 1e-9)
best = d["sets"]["best_tokens_per_s"] / d["today_tokens_per_s"] - 1
shap = sum(x["shapley_gain"] or 0 for x in first) + (o["fused_ar_rmsnorm"]["shapley_gain"] or 0)
print("Shapley's shares add up to the best set's gain:", abs(shap - best) < 1e-9)
t = [x["tokens_per_s"] for x in d["roadmap"]]
print("the roadmap rises:", len(t) > 2 and t == sorted(t))
print("decisive:", d["decisive_measurement"]["minutes"] > 0, d["decisive_measurement"]["regret_after_tokens_per_s"] < d["decisive_measurement"]["regret_before_tokens_per_s"])
print("memory of a communicator:", d["memory"]["nccl_ring_bytes"] / 2**20, d["memory"]["nccl_ring_and_tree_bytes"] / 2**20)
P
# What --explain prints adds up.
"$UPDRAFT" rank "$S" --explain custom_twoshot --draws 200 >explain.txt
python3 - <<'P'
import re
rows = {}
for line in open("explain.txt"):
    m = re.match(r"    ([+x=]? ?[a-zA-Z].*?)  +(-?[\d.]+) +(-?[\d.]+) +([+-][\d.]+)$", line)
    if m: rows[m.group(1)] = (float(m.group(2)), float(m.group(3)))
for i in (0, 1):
    g = lambda k: rows[k][i]
    ar = g("us of a verify allreduce") * g("x allreduces of a verify pass") + g("+ us of the logits exchange")
    print("verify allreduce by hand:", abs(ar - g("= us of verify allreduce")) < 1)
    cycle = sum(g(k) for k in ("= us of verify allreduce", "+ us of verify compute", "+ us of the draft", "+ us of the draft's allreduces", "+ us of the host"))
    print("cycle by hand:", abs(cycle - g("= us of a cycle")) < 0.1)
P
"$UPDRAFT" rank "$S" --explain nothing; echo "exit $?"
"$UPDRAFT" rank "$S" --draws 3; echo "exit $?"
"$UPDRAFT" rank; echo "exit $?"
"$UPDRAFT" rank "$S" --set draft.accept_rate=1 --draws 200 --set draft.num_steps=64 --json | python3 -c 'import json,sys; print(len(json.load(sys.stdin)["optimizations"]) > 20)'
"$UPDRAFT" rank --schema | cmp - "$TOP/docs/catalogue.schema.json" && echo "docs/catalogue.schema.json is current"
# Recorded device memory beside the prediction.
printf '{"updraft_trace":1,"host":{}}\n{"what":"device_memory","memory_bytes":409993216,"impl":"nccl/ring/ll","ranks":8}\n{"what":"device_memory","memory_bytes":25165824,"impl":"nccl/ring/ll:channels=2,buffsize=131072","ranks":8}\n' >mem.jsonl
"$UPDRAFT" rank "$S" --draws 200 --memory mem.jsonl | grep "memory of nccl"
# The order within a budget; what it leaves out takes longer.
"$UPDRAFT" rank "$S" --draws 200 --budget 2 --json | python3 -c 'import json,sys; r=json.load(sys.stdin)["roadmap"]; print("within two days:", all(x["done_days"] <= 2 for x in r), len(r) > 0)'
"$UPDRAFT" rank "$S" --set draft.num_steps=3 --draws 200 --json | python3 -c 'import json,sys; print([x["status"] + ": " + x["reason"] for x in json.load(sys.stdin)["optimizations"] if x["id"] == "draft_steps_3"][0])'
