# slow
# The recordings that ship: a trace whose ranks share a GPU is priced from its own probes, not from
# what its name says of a box.
"$UPDRAFT" backtest "$TOP/traces/recorded" --json 2>/dev/null | python3 -c '
import json, sys
for t in json.load(sys.stdin)["tables"]:
    if t["table"].startswith("allreduces priced from"):
        print(t["table"], "|", t["target"], "|", "more than 50 cases" if t["cases"] > 50 else "few cases")
    if "one-shot, two-shot and staged" in t["table"] or "one-s" in t["table"]:
        assert t["median_rel_error"] <= 0.20 and t["sign_accuracy"] >= 0.90, t'
