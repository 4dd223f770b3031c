# A prediction, its outcome, the score; a prediction is never changed.
exec 2> >(sed "s/\[[0-9][^]]*\]/[LOW, HIGH]/" >&2)
cat >s.json <<'J'
{"updraft_scenario":1, "title":"known", "ranks":1, "model":{"layers":2,"hidden":8},
 "baseline":{"tokens_per_s":{"value":100,"low":90,"high":110}}}
J
"$UPDRAFT" ledger score; echo "exit $?"
"$UPDRAFT" ledger add --id a s.json; echo "exit $?"
"$UPDRAFT" ledger add --id b s.json --set pass.scale=0.5; echo "exit $?"
"$UPDRAFT" ledger add --id a s.json; echo "exit $?"
"$UPDRAFT" ledger add --id c --measured 3; echo "exit $?"
"$UPDRAFT" ledger add --id a --measured 104; echo "exit $?"
"$UPDRAFT" ledger add --id a --measured 104; echo "exit $?"
"$UPDRAFT" ledger list | sed 's/\[[^]]*\]/[LOW, HIGH]/'
"$UPDRAFT" ledger add --id b --measured 150; "$UPDRAFT" ledger score
"$UPDRAFT" ledger score --json | python3 -c 'import json,sys; s=json.load(sys.stdin); print(s["outcomes"], s["interval_coverage"], round(s["median_rel_error"], 3))'
printf '{"id":"torn' >>updraft-ledger.jsonl; "$UPDRAFT" ledger add --id d s.json; "$UPDRAFT" ledger list >/dev/null; echo "exit $?"
echo 'x' >bad.jsonl; "$UPDRAFT" ledger list --ledger bad.jsonl; echo "exit $?"
"$UPDRAFT" ledger add --id e --measured -1; echo "exit $?"
"$UPDRAFT" ledger dance; echo "exit $?"
