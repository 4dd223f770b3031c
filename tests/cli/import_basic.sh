# The summary, the trace, warnings and exit codes of import on one small nccl-tests table.
f=$TOP/tests/fixtures/import/nccl_v2.txt
"$UPDRAFT" import --json "$f"
"$UPDRAFT" import "$f"
"$UPDRAFT" import - <"$f" 2>/dev/null | tail -n 1
"$UPDRAFT" import "$f" -o out.jsonl 2>/dev/null && "$UPDRAFT" import "$f" 2>/dev/null | cmp - out.jsonl && echo same
echo "usage: $("$UPDRAFT" import 2>&1 >/dev/null) $?"
for bad in missing.txt . /dev/null; do "$UPDRAFT" import "$bad"; echo "exit $?"; done
head -c 3000000 /dev/zero >zeros; "$UPDRAFT" import zeros; echo "exit $?"
"$UPDRAFT" import --format sonnet "$f"; echo "exit $?"
