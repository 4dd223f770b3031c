# slow
# Every kind of plot in every format; texts do not overlap.
command -v gnuplot >/dev/null || { echo "gnuplot is not installed"; exit 77; }
scenario=$TOP/traces/scenarios/origin.json
input_of() { # what a kind is drawn from here
    case $1 in
        SCENARIO) echo "$scenario";;
        FABRIC*) echo switch-4-2s;;
        TRACE*) echo "$TOP/traces/recorded/rtx_pro_6000_8gpu_switches.jsonl";;
        *) echo "$TOP/tests/plots/$kind.json";;
    esac
}
"$UPDRAFT" plot --list >kinds
while read -r kind input rest; do
    file=$(input_of "$input")
    for end in png svg pdf gp; do
        "$UPDRAFT" plot "$kind" "$file" -o "$kind.$end" 2>err || { echo "$kind.$end: exit $?"; cat err; }
    done
    head -c 4 "$kind.png" | tail -c 3; head -c 4 "$kind.pdf"; grep -q '</svg>' "$kind.svg" && echo " svg $kind"
    python3 "$TOP/tests/svg_labels.py" "$kind.svg"
    grep -q '\[µs\|\[ms\]\|\[tokens/s\]\|\[%\]\|\[GB/s\]' "$kind.svg" || echo "$kind: no unit on any axis"
    NO_COLOR=1 COLUMNS=90 "$UPDRAFT" plot "$kind" "$file" >term 2>err || { echo "$kind: exit $?"; cat err; }
    [ "$(wc -l <term)" -ge 12 ] || echo "$kind: the terminal shows too little"
    awk -v k="$kind" 'length($0) > 92 { print k ": wider than the terminal: " $0; exit }' term
    # The written program stands alone.
    gnuplot -d - <"$kind.gp" >again.png 2>/dev/null && cmp -s again.png "$kind.png" || echo "$kind.gp draws another picture"
done <kinds
"$UPDRAFT" plot rank "$scenario" -o r.svg && python3 "$TOP/tests/svg_labels.py" r.svg
echo "--- every preset as a picture"
for preset in $(sed -n 's/^FABRIC_PRESET("\([^"]*\)".*/\1/p' "$TOP/model/fabric_presets.def"); do
    for kind in fabric crossover; do
        "$UPDRAFT" plot $kind "$preset" -o p.svg && python3 "$TOP/tests/svg_labels.py" p.svg | sed "s/^/$preset $kind: /"
    done
done
"$UPDRAFT" plot crossover "$TOP/traces/recorded/rtx_pro_6000_8gpu_switches.jsonl" -o p.svg && python3 "$TOP/tests/svg_labels.py" p.svg
"$UPDRAFT" plot fabric switch-4-2s:16 -o p.svg && python3 "$TOP/tests/svg_labels.py" p.svg
"$UPDRAFT" plot fabric epyc-2s:64 -o p.svg && python3 "$TOP/tests/svg_labels.py" p.svg
echo "--- latency of a trace, its model and a scenario"
trace=$TOP/traces/recorded/rtx_pro_6000_8gpu_switches.jsonl
"$UPDRAFT" fit "$trace" --json >model.json
for input in "$trace" model.json "$scenario"; do
    "$UPDRAFT" plot latency "$input" -o l.svg && python3 "$TOP/tests/svg_labels.py" l.svg
    grep -o '<text><tspan[^>]*>[^<]*</tspan>\|<text>[^<]*</text>' l.svg | sed 's/<[^>]*>//g' | grep -E 'oneshot|ring|verify|plain|Allreduce'
done
