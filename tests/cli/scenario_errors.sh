# One helpful line and the right exit code for each wrong input.
o=$TOP/traces/scenarios/origin.json
run() { "$UPDRAFT" "$@" 2>&1 >/dev/null | tail -n 1 | sed "s#$TOP/##g"; echo "exit ${PIPESTATUS[0]}"; }
run simulate missing.json
run simulate .
: >empty.json; run simulate empty.json
head -c 300 "$o" >cut.json; run simulate cut.json
head -c 1048576 /dev/zero >zeros.json; run simulate zeros.json
printf '{"updraft_scenario":1,\n "rnks": 8}\n' >unknown.json; run simulate unknown.json
printf '{"updraft_scenario":1,\n "draft": {\n  "topkk": 1}}\n' >nested.json; run simulate nested.json
printf '{"updraft_scenario":1,\n "ranks": NaN}\n' >nan.json; run simulate nan.json
printf '{"updraft_scenario":1,\n "batch": -3}\n' >negative.json; run simulate negative.json
printf '{"updraft_scenario":1, "ranks": 1,\n "draft": {"accept_rate": 1.2}}\n' >rate.json; run simulate rate.json
printf '{"updraft_scenario":2}\n' >version.json; run simulate version.json
printf '{"updraft_scenario":1, "model":{"layers":2,"hidden":8}}\n' >nothing.json; run simulate nothing.json
printf '{"updraft_scenario":1, "costs":["none.jsonl"], "model":{"layers":2,"hidden":8}}\n' >costs.json; run simulate costs.json
run simulate "$o" --set nope=1
run simulate "$o" --set draft.accept_rate=1.5
run simulate "$o" --set hardware.fabric= --set ranks=4
run simulate "$o" --set allreduce.impl=custom/never
run simulate "$o" --draws 3
run simulate
run sweep "$o"
run sweep "$o" --vary draft.num_steps=8:1
run sweep "$o" --vary allreduce.impl=nccl/ring/ll,custom/never
run sweep "$o" --vary draft.accept_rate=0.5:1.5:0.5
"$UPDRAFT" sweep "$o" --vary draft.accept_rate=0.5:1.5:0.5 -o out.csv 2>/dev/null; ls out.csv* 2>&1 | sed 's/.*: //'
