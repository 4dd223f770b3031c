# A prediction, its outcome, the score; a prediction is never changed.
cat >s.json <<'J'
{"updraft_scenario":1, "title":"known", "ranks":1, "model":{"layers":2,"hidden":8},
 "baseline":{"tokens_per_s":{"value":100,"low":90,"high":110}}}
J
ledger() { "$UPDRAFT" ledger "$@" 2>&1 | sed 's/\[[0-9][^]]*\]/[LOW, HIGH]/'; echo "exit ${PIPESTATUS[0]}"; }
ledger score
ledger add --id a s.json
ledger add --id b s.json --set pass.scale=0.5
ledger add --id a s.json
ledger add --id c --measured 3
ledger add --id a --measured 104
ledger add --id a --measured 104
ledger list
ledger add --id b --measured 150
ledger score
"$UPDRAFT" ledger score --json | python3 -c 'import json,sys; s=json.load(sys.stdin); print(s["outcomes"], s["interval_coverage"], round(s["median_rel_error"], 3))'
printf '{"id":"torn' >>updraft-ledger.jsonl
ledger add --id d s.json
ledger list
echo 'x' >bad.jsonl
ledger list --ledger bad.jsonl
ledger add --id e --measured -1
ledger dance
