# rank --explain can be added up by hand from what it prints, and says what comes with an option.
s="$TOP/traces/scenarios/origin.json"
for id in custom_twoshot fused_ar_rmsnorm draft_steps_3 local_argmax; do
    "$UPDRAFT" rank "$s" --draws 400 --explain $id | python3 -c '
import re, sys
text = sys.stdin.read()
def row(name):
    return [float(x) for x in re.search(r"    " + re.escape(name) + r" +(\S+) +(\S+)", text).groups()]
ok = True
for today in (0, 1):
    at = lambda name: row(name)[today]
    verify = at("us of a verify allreduce") * at("x allreduces of a verify pass") + at("+ us of the logits exchange")
    ok &= abs(verify - at("= us of verify allreduce")) < 1
    cycle = (at("= us of verify allreduce") + at("+ us of verify compute") + at("+ us of the draft")
             + at("+ us of the draft'"'"'s allreduces") + at("+ us of the host"))
    ok &= abs(cycle - at("= us of a cycle")) < 0.05
    speed = at("tokens of a cycle and request") * at("x requests") * 1e6 / at("= us of a cycle")
    ok &= abs(speed - at("x 10^6 / cycle = tokens/s")) < 0.01
print(sys.argv[1], ok, "with what it needs:", "which it needs" in text and "that of what it needs" in text)' $id
done
