# What plot refuses, each with its exit code, and that a failure leaves the target untouched.
command -v gnuplot >/dev/null || { echo "gnuplot is not installed"; exit 77; }
scenario=$TOP/traces/scenarios/origin.json
trace=$TOP/traces/recorded/rtx_pro_6000_8gpu_switches.jsonl
echo "--- refused"
echo whole >kept.png
run() { "$UPDRAFT" plot "$@"; echo "exit $?"; }
run draft "$scenario" -o picture.jpg
run nosuch "$scenario"
run draft
run draft no-such-file.json -o kept.png
run draft "$TOP/tests" -o kept.png
run draft "$scenario" -o no-such-folder/x.png
run draft "$scenario" --json
run draft "$scenario" --set draft.accept_rate=2 -o kept.png
run draft "$scenario" --set draft.method=none -o kept.png
run latency "$trace" --impl custom/twoshot -o kept.png
run latency "$scenario" --ranks 3 -o kept.png
PATH=/nonexistent run draft "$scenario" -o kept.png
cat kept.png
ls kept.png* no-such-folder 2>/dev/null
echo "--- a file's text is never a command"
sed 's/"title": "[^"]*"/"title": "it'"'"'s `touch pwned` $(touch pwned) %s \\" {x_2}"/' "$scenario" >evil.json
sed -i "s#\.\./recorded#$TOP/traces/recorded#" evil.json
"$UPDRAFT" plot draft evil.json -o evil.svg && grep -c "it's .touch pwned. \$(touch pwned) %s" evil.svg
ls pwned 2>/dev/null
"$UPDRAFT" plot draft "$scenario" -o j.png --json
