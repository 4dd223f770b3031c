# Nonsense in a catalogue is refused with the file and the line.
S="$TOP/traces/scenarios/origin.json"
try() { # name, options
    printf '{\n"updraft_catalogue": 1,\n"options": [\n%s\n]}\n' "$2" >"$1.json"
    "$UPDRAFT" rank "$S" --catalogue "$1.json" --draws 200 >/dev/null; echo "$1: exit $?" >&2
}
E='"effects": [{"type": "scale_latency", "factor": 0.9}], "effort_days": 1'
try cycle '{"id": "a", "needs": ["b"], '"$E"'},
{"id": "b", "needs": ["c"], '"$E"'},
{"id": "c", "needs": ["a"], '"$E"'}'
try itself '{"id": "a", '"$E"'},
{"id": "b",
"excludes": ["b"], '"$E"'}'
try needs_excluded '{"id": "a", '"$E"'},
{"id": "b", "excludes": ["a"], "needs": ["a"], '"$E"'}'
try probability '{"id": "a",
"p_works": 1.2, '"$E"'}'
try effect '{"id": "a", "effort_days": 1, "effects": [
{"type": "make_it_fast", "factor": 2}]}'
try order '{"id": "a", "effort_days": 1, "effects": [{"type": "scale_latency",
"factor": {"value": 1, "low": 2, "high": 3}}]}'
try unknown_key '{"id": "a", "colour": "red", '"$E"'}'
try unknown_field '{"id": "a", "effort_days": 1, "effects": [{"type": "scale_latency", "factor": 1, "speed": 2}]}'
try no_such_id '{"id": "a", "excludes": ["z"], '"$E"'}'
try twice '{"id": "a", '"$E"'},
{"id": "a", '"$E"'}'
try effort '{"id": "a", "effects": [{"type": "scale_latency", "factor": 1}], "effort_days": {"low": 3, "likely": 2, "high": 5}}'
try no_effort '{"id": "a", "effects": [{"type": "scale_latency", "factor": 1}]}'
try set_measured '{"id": "a", "effort_days": 1, "effects": [{"type": "set", "key": "baseline.tokens_per_s", "value": 900}]}'
try set_range '{"id": "a", "effort_days": 1, "effects": [{"type": "set", "key": "draft.num_steps", "value": -1}]}'
try set_ranks '{"id": "a", "effort_days": 1, "effects": [{"type": "set", "key": "ranks", "value": 4}]}'
try no_key '{"id": "a", '"$E"', "requires": [{"key": "hardware.colour", "min": 1}]}'
try empty ''
try nan '{"id": "a", "p_works": NaN, '"$E"'}'
try own '{"id": "a", "x_note": "mine", '"$E"'}'
"$UPDRAFT" rank "$S" --catalogue /nonexistent; echo "missing: exit $?" >&2
"$UPDRAFT" rank "$S" --catalogue .; echo "directory: exit $?" >&2
: >empty; "$UPDRAFT" rank "$S" --catalogue empty; echo "empty: exit $?" >&2
"$UPDRAFT" rank "$S" --catalogue "$S"; echo "a scenario: exit $?" >&2
# An option that was never measured and that nothing prices is blocked, not guessed.
try unpriced '{"id": "a", "effort_days": 1, "effects": [{"type": "replace_impl", "impl": "custom/magic"}]}'
"$UPDRAFT" rank "$S" --catalogue unpriced.json --draws 200 --json | python3 -c 'import json,sys; o=json.load(sys.stdin)["optimizations"][0]; print(o["status"], "|", o["reason"][:60])'
# An option that does not fit in memory is blocked with the sum; impossible inputs are refused.
try memory '{"id": "a", "effort_days": 1, "effects": [{"type": "workspace", "bytes": 40000000000}, {"type": "scale_latency", "factor": 0.5}]}'
"$UPDRAFT" rank "$S" --catalogue memory.json --draws 200 --json | python3 -c 'import json,sys; o=json.load(sys.stdin)["optimizations"][0]; print(o["status"], "|", o["reason"])'
"$UPDRAFT" rank "$S" --set measured.speculative_tokens_per_s=900 --draws 200; echo "impossible: exit $?" >&2
