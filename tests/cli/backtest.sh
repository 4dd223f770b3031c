# backtest: the curves of a fixture, every output, refusals.
run() { "$UPDRAFT" "$@"; echo "exit $?"; }
box=$TOP/tests/fixtures/fit
run backtest "$box"
run backtest "$box" --cases | grep box.jsonl
run backtest "$box" --csv
"$UPDRAFT" backtest "$box/box.jsonl" --json --cases | python3 -c '
import json, sys
d = json.load(sys.stdin)
t = d["tables"][0]
print(sorted(d), sorted(t), sorted(t["naive"]), sorted(t["each"][0]))
print(t["cases"], len(t["each"]), t["naive"]["formula"], 0 <= t["interval_coverage"] <= 1)'
mkdir empty; run backtest empty
run backtest missing
mkdir junk; head -c 3000 /dev/zero > junk/zeros; printf 'a,b\n1,2\n' > junk/other.csv; ln -s . junk/loop; run backtest junk
# The same curve twice counts once.
mkdir twice; cp "$box/box.jsonl" twice/a.jsonl; cp "$box/box.jsonl" twice/b.jsonl
run backtest twice | sed -n 3p
