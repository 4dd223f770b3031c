# One allreduce priced on a fabric, beside and without a model; JSON keys; what is refused.
"$UPDRAFT" predict --fabric epyc-2s --impl custom/twoshot --bytes 43008
"$UPDRAFT" predict --fabric "$TOP/tests/fixtures/fabric/topo.jsonl" --impl custom/oneshot-pull:end=none --bytes 42K --json |
    python3 -c 'import json,sys; d=json.load(sys.stdin); print(sorted(d)); print(d["impl"], d["ranks"], d["bytes"], d["source"], d["ci95"][0] < d["latency_us"] < d["ci95"][1], round(sum(t["us"] for t in d["terms"]) / d["latency_us"], 1))'
"$UPDRAFT" predict --fabric epyc-2s --impl nccl/model --bytes 43008 --ranks 8 | head -n 2
"$UPDRAFT" predict --fabric switch-4-2s --impl custom/oneshot --bytes 1M --placement 0,2,4,6 | head -n 2
# What was measured wins over what can be priced.
cat >t.jsonl <<'J'
{"updraft_trace":1,"host":{}}
{"defaults":{"impl":"custom/oneshot","ranks":8}}
{"what":"allreduce","size_bytes":1024,"latency_us":7}
{"what":"allreduce","size_bytes":4096,"latency_us":8}
{"what":"allreduce","size_bytes":16384,"latency_us":12}
{"what":"allreduce","size_bytes":65536,"latency_us":30}
{"what":"allreduce","size_bytes":262144,"latency_us":100}
J
"$UPDRAFT" predict t.jsonl --fabric epyc-2s --impl custom/oneshot --bytes 16384 --ranks 8
"$UPDRAFT" predict t.jsonl --fabric epyc-2s --impl custom/hier --bytes 16384 --ranks 8 | head -n 1
echo "refused:"
"$UPDRAFT" predict --impl custom/oneshot --bytes 1K; echo "exit $?"
"$UPDRAFT" predict --fabric epyc-2s --impl custom/oneshot --bytes 1K --collective all_gather; echo "exit $?"
"$UPDRAFT" predict --fabric no-p2p --impl custom/oneshot --bytes 1K; echo "exit $?"
"$UPDRAFT" predict --fabric epyc-2s --impl custom/oneshot --bytes 1K --ranks 65; echo "exit $?"
"$UPDRAFT" predict --fabric epyc-2s --impl custom/oneshot --bytes 0; echo "exit $?"
"$UPDRAFT" predict t.jsonl --impl custom/oneshot --bytes 1K --placement 0,1; echo "exit $?"
"$UPDRAFT" predict --fabric t.jsonl --impl custom/oneshot --bytes 1K; echo "exit $?"
"$UPDRAFT" predict --fabric switch-1 --impl custom/twoshot --bytes 43008 --ranks 8 --json >/dev/null # on four GPUs: says so
