# What was never measured is priced on the scenario's fabric, marked; what was measured stays so.
o=$TOP/traces/scenarios/origin.json
run() { "$UPDRAFT" simulate "$o" --json "$@" >s.json && python3 -c 'import json; s=json.load(open("s.json")); print(round(s["verify"]["allreduce_us"], 1) > 0, [w for w in s["warnings"] if "fabric" in w])'; echo "exit $?"; }
run --set hardware.fabric=switch-2 --set allreduce.impl=custom/twoshot
run --set hardware.fabric=switch-2
"$UPDRAFT" simulate "$o" --set hardware.fabric=no-p2p --set allreduce.impl=custom/twoshot; echo "exit $?"
"$UPDRAFT" simulate "$o" --set hardware.fabric=switch-2 --set allreduce.impl=custom/nothing; echo "exit $?"
"$UPDRAFT" simulate "$o" --set hardware.fabric=nowhere --set allreduce.impl=custom/twoshot 2>&1 | cut -c1-60; echo "exit ${PIPESTATUS[0]}"
"$UPDRAFT" sweep "$o" --set hardware.fabric=switch-2 --vary ranks=2,8 --vary allreduce.impl=nccl/ring/ll,custom/twoshot --draws 0 | cut -d, -f1,2,15-17
