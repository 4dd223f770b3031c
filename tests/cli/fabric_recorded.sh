# The shipped recording of an H200: its kernels priced from its probes alone, with nothing fitted.
"$UPDRAFT" backtest "$TOP/traces/recorded" --json | python3 -c '
import json, sys
t = [t for t in json.load(sys.stdin)["tables"] if "probes, one-shot" in t["table"]][0]
print("cases at least 100:", t["cases"] >= 100, "fitted:", t["fitted_parameters"])
print("median error at most 20 %:", t["median_rel_error"] <= 0.20)
print("order right at 90 % or more of the pairs:", t["sign_accuracy"] >= 0.90)
'
