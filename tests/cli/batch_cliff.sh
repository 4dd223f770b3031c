# A plain batch curve with a cliff: the gain falls below 1 where the verified rows cross it.
for b in 1 2 4 8 16 32; do
    "$UPDRAFT" simulate "$TOP/traces/scenarios/batch_cliff.json" --set batch=$b --draws 200 --json |
        python3 -c 'import json,sys; d=json.load(sys.stdin); b=d["breakdown_us"]; print(sys.argv[1], "requests: gain %.2f, parts add up: %s" % (d["speedup"], abs(sum(b.values())-d["cycle_us"])<1e-6*d["cycle_us"]))' $b
done
