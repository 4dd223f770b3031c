# Fits the terms of a scenario to a small table of runs, and says what the runs cannot tell.
cat >runs.csv <<'C'
model,concurrency,num_steps,base_tok_s,spec_tok_s,accept_length
a,1,2,100,150,2.1
a,1,4,100,160,2.6
a,4,2,340,480,2.1
a,4,4,340,490,2.6
a,16,2,1000,1250,2.1
b,1,2,50,60,1.2
C
cat >s.json <<'C'
{"updraft_scenario": 1, "ranks": 1, "model": {"layers": 32, "hidden": 4096},
 "draft": {"method": "eagle3", "num_steps": 2, "accept_rate": 0.5, "pass_us": {"value": 300, "assumed": true}},
 "baseline": {"tokens_per_s": 90}}
C
# The intervals come from a random walk: their last digits are a compiler's.
cut_digits() { sed -E 's/ *[0-9.]+ +\[[^]]*\] +(yes|no).*/ \1/; s/correlation -0[.][0-9]*/negative correlation/; s/ +before +now.*//'; }
"$UPDRAFT" calibrate s.json --with runs.csv --where model=a -o out.json | cut_digits
"$UPDRAFT" simulate out.json --set batch=4 --set draft.num_steps=4 --json --draws 200 |
    python3 -c 'import json,sys; d=json.load(sys.stdin); print("calibrated: %.0f tokens/s plain, %.0f speculative" % (d["baseline_tokens_per_s"], d["speculative_tokens_per_s"]))'
"$UPDRAFT" calibrate s.json --with runs.csv --where model=a --json |
    python3 -c 'import json,sys; d=json.load(sys.stdin); print(sorted(d)); print([t["key"] for t in d["terms"]], d["runs"])'
echo "one run at one depth:"
head -2 runs.csv >one.csv
"$UPDRAFT" calibrate s.json --with one.csv | cut_digits | sed -n '/term/,/^$/p'
echo "from a trace:"
cat >t.jsonl <<'C'
{"updraft_trace":1}
{"what":"server_window","tokens_per_s":100,"batch":1}
{"what":"server_window","tokens_per_s":148,"batch":1,"num_steps":2,"accept_length":2.0}
{"what":"server_window","tokens_per_s":152,"batch":1,"num_steps":2,"accept_length":2.2}
C
"$UPDRAFT" calibrate s.json --with t.jsonl | cut_digits | sed -n '1p;/tokens\/s/,$p'
echo "engines' own figures:"
for q in vllm_per_position=0.8,0.56,0.34 sglang_accept_rate_old=0.675@3 vllm_draft_acceptance_rate=0.5667@3 eagle_tau=2.7@3; do
    "$UPDRAFT" calibrate s.json --accept $q | sed -n 2p
done
echo "a mix of data sets:"
printf 'dataset,num_steps,accept_length\ncode,2,2.7\ncode,4,3.9\nchat,2,1.8\nchat,4,2.0\n' >sets.csv
"$UPDRAFT" calibrate s.json --with sets.csv --mix code=3 --mix chat=1 | grep mix
echo "what cannot be used:"
"$UPDRAFT" calibrate s.json --accept sglang_accept_rate_old=0.1@3; echo "exit $?"
"$UPDRAFT" calibrate s.json --accept nonsense=3; echo "exit $?"
"$UPDRAFT" calibrate s.json --with sets.csv --mix code=-1; echo "exit $?"
"$UPDRAFT" calibrate s.json --with sets.csv --mix code=1 --mix other=1; echo "exit $?"
"$UPDRAFT" calibrate s.json; echo "exit $?"
"$UPDRAFT" calibrate s.json --with runs.csv --where model; echo "exit $?"
"$UPDRAFT" calibrate s.json --with runs.csv --where color=red; echo "exit $?"
"$UPDRAFT" calibrate s.json --with runs.csv --where model=zzz; echo "exit $?"
"$UPDRAFT" calibrate s.json --with nothing.csv; echo "exit $?"
