# The schema of fabric files knows what the program knows: parameters, presets, switches, link kinds.
"$UPDRAFT" crossover epyc-2s --params --json >fabric.json
"$UPDRAFT" crossover nowhere 2>presets; echo '{"updraft_fabric": 1, "preset": "switch-1", "switch_model": "acme"}' >x.json; "$UPDRAFT" crossover x.json 2>switches
python3 - "$TOP" <<'P'
import json, re, sys
schema = json.load(open(sys.argv[1] + "/docs/fabric.schema.json"))["properties"]
fabric = json.load(open("fabric.json"))
print("parameters:", list(fabric["params"]) == list(schema["params"]["properties"]))
print("keys:", set(fabric) <= set(schema))
print("presets:", re.search("one of (.*)", open("presets").read()).group(1).split(", ") == schema["preset"]["enum"])
print("switches:", re.search("one of (.*)", open("switches").read()).group(1).split(", ") == schema["switch_model"]["enum"])
print("links:", {l["kind"] for l in fabric["links"]} <= set(schema["links"]["items"]["properties"]["kind"]["enum"]))
P
