# From a model's config and a launch command to a scenario, and its numbers by hand.
f=$TOP/tests/fixtures/scenario
"$UPDRAFT" scenario --model-config "$f/config_moe.json" --draft-config "$f/config_draft.json" \
    --flags "python -m sglang.launch_server --model-path x --tp 4 --speculative-algorithm EAGLE3 --speculative-num-steps=3 --speculative-eagle-topk 2 --speculative-num-draft-tokens 6 --mem-fraction-static 0.8 --trust-remote-code" \
    --set draft.accept_rate=0.8,0.7 --set baseline.tokens_per_s=100 --costs t.jsonl >s.json || exit
python3 - <<'P'
import json
s = json.load(open("s.json"))
att = 1000 * 100 * (2 * 10 + 2 * 2)
dense = 10 * att + 2 * 3 * 1000 * 3000 + 8 * 1 * 3 * 1000 * 500 + 5000 * 1000
assert abs(s["model"]["dense_weight_bytes"]["value"] / (dense * 2) - 1) < 1e-9
assert abs(s["model"]["expert_weight_bytes"]["value"] / (8 * 3 * 1000 * 500 * 1.01) - 1) < 1e-9
assert s["model"]["expert_weight_bytes"]["assumed"] is True
draft = 1000 * 100 * 40 + 3 * 1000 * 2000 + 3 * 1000 * 1000 + 800 * 1000
assert abs(s["draft"]["weight_bytes"]["value"] / (draft * 2) - 1) < 1e-9
print(s["ranks"], s["draft"]["method"], s["draft"]["num_steps"], s["draft"]["topk"], s["draft"]["num_draft_tokens"], s["draft"]["vocab"])
print(s["engine"], s["costs"])
P
"$UPDRAFT" scenario --model-config "$f/config_moe.json" --set draft.accept_rate=0.8 --set baseline.tokens_per_s=100 \
    --flags "vllm serve m --tensor-parallel-size 8 --speculative-config '{\"method\":\"eagle3\",\"num_speculative_tokens\":5,\"draft_tensor_parallel_size\":1}' --max-num-seqs 64" |
    python3 -c 'import json,sys; s=json.load(sys.stdin); print(s["ranks"], s["draft"]["num_steps"], s["draft"]["tensor_parallel"], s["engine"])'
"$UPDRAFT" scenario --flags "vllm serve --speculative-config nonsense"; echo "exit $?"
"$UPDRAFT" scenario --flags "sglang --speculative-algorithm LOOKAHEAD"; echo "exit $?"
"$UPDRAFT" scenario --flags "sglang --tp"; echo "exit $?"
"$UPDRAFT" scenario --model-config "$f/none.json" 2>&1 | sed "s#$TOP##"; echo "exit ${PIPESTATUS[0]}"
echo '{"a":1}' >c.json; "$UPDRAFT" scenario --model-config c.json; echo "exit $?"
