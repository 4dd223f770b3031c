# Crossovers on presets, files and probes; parameters and their origin; what is refused.
"$UPDRAFT" crossover switch-4-2s --impl custom/oneshot --impl custom/twoshot --impl nccl/auto
"$UPDRAFT" crossover switch-4-2s --ranks 4 --impl custom/oneshot --impl nccl/ring/ll --json |
    python3 -c 'import json,sys; d=json.load(sys.stdin); print(sorted(d), [s["impl"] for s in d["segments"]], d["crossovers"][0]["below"], d["crossovers"][0]["ci95"][0] <= d["crossovers"][0]["bytes"] <= d["crossovers"][0]["ci95"][1])'
F=$TOP/tests/fixtures/fabric
"$UPDRAFT" crossover "$F/box.json" --impl custom/oneshot --impl custom/oneshot-pull --to 64K
"$UPDRAFT" crossover "$F/topo.jsonl" --params | grep measured
# A fabric written out is the fabric read in.
"$UPDRAFT" crossover "$F/box.json" --params --json >again.json && "$UPDRAFT" crossover again.json --params --json | cmp - again.json && echo "round trip"
"$UPDRAFT" crossover "$F/graph.json" --impl host/oneshot --impl custom/oneshot --placement 0,1 --to 1M
echo "refused:"
for bad in nowhere epyc-2s:65 epyc-2s: "$TOP/tests"; do "$UPDRAFT" crossover "$bad"; echo "exit $?"; done
"$UPDRAFT" crossover epyc-2s --impl custom/onecast --impl nccl/auto; echo "exit $?"
"$UPDRAFT" crossover epyc-2s --impl nccl/auto; echo "exit $?"
"$UPDRAFT" crossover epyc-2s --from 4K --to 4K; echo "exit $?"
"$UPDRAFT" crossover epyc-2s --placement 0,9; echo "exit $?"
"$UPDRAFT" crossover no-p2p --impl custom/oneshot --impl nccl/auto; echo "exit $?"
for bad in negative apart zero cut; do "$UPDRAFT" crossover "$TOP/tests/fuzz/corpus/fabric/$bad.json"; echo "exit $?"; done
echo '{"updraft_fabric": 1, "preset": "switch-1", "switches": 3}' >x.json; "$UPDRAFT" crossover x.json; echo "exit $?"
echo '{"updraft_fabric": 1, "preset": "switch-1", "switch_model": "acme"}' >x.json; "$UPDRAFT" crossover x.json; echo "exit $?"
head -c 3000000 /dev/zero >zeros; "$UPDRAFT" crossover zeros; echo "exit $?"
