# Without a GPU the default backend says what to do and the exit status is 5; usage errors are 2.
CUDA_VISIBLE_DEVICES= "$UPDRAFT" measure -o t.jsonl 2>err; echo "exit $?"
grep -c '^updraft: .*\(cpu\|CUDA\|GPU\)' err
test -e t.jsonl && echo "a trace was left behind"
for args in "--backend gpu" "--ranks 1" "--ranks 2,x" "--sizes 12Q" "--plan huge" "--dtype int8" \
    "--iterations 0" "--method fast" "--backend synthetic --impl cpu/oneshot" "--backend cpu --option a=1" \
    "--backend synthetic --option noise=big" "--backend synthetic --option fault=melt@8" "--backend cpu --json" \
    "--backend cpu --resume" "--option x" "trace.jsonl"; do
    "$UPDRAFT" measure $args >/dev/null; echo "exit $? for $args"
done
"$UPDRAFT" measure --backend cpu --sizes 7 --no-probes; echo "exit $?"
"$UPDRAFT" measure --backend cpu -o /nonexistent/t.jsonl; echo "exit $?"
