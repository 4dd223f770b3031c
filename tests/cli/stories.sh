# Ranking backtests: the order of variants and steps in published stories.
"$UPDRAFT" backtest "$TOP/traces/reference" --json >b.json
python3 - <<'P'
import json
t = [x for x in json.load(open("b.json"))["tables"] if x.get("kendall_tau") is not None]
print("stories:", len(t) >= 4)
for x in t: print(x["table"], "tau at least 0.7:", x["kendall_tau"] >= 0.7, "top choice right or undecidable:", x["argmax_accuracy"] == 1)
P
# A table whose words say nothing about the allreduce is no story; one that lies is not flattered.
mkdir d; printf 'variant,c1_tok_s\nblue,10\ngreen,20\n' >d/a.csv
"$UPDRAFT" backtest d 2>&1 | tail -n 1
printf 'variant,c1_tok_s\npure NCCL,80\ncustom AR on,40\nb12x oneshot,39\n' >d/b.csv
"$UPDRAFT" backtest d --json | python3 -c 'import json,sys; x=json.load(sys.stdin)["tables"][0]; print(x["kendall_tau"], x["argmax_accuracy"])'
