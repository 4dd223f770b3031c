# CSV tables: units, labels that are not the kernel, several times a row, a map of the user's own.
d=$TOP/tests/fixtures/import
"$UPDRAFT" import "$d/elements_ms.csv"
"$UPDRAFT" import "$d/two_times_4gpu.csv"
"$UPDRAFT" import "$d/kb.csv"
printf 'n,elem,t_ns,node\n50,half,4000,a\n5000,half,8000,a\n6000,fp32,9000.5,b\n' >own.csv
"$UPDRAFT" import own.csv; echo "exit $?"
"$UPDRAFT" import --columns "$d/own_map.json" own.csv
echo '{"tables":[{"name":"x","wen":[]}]}' >bad.json
"$UPDRAFT" import --columns bad.json own.csv; echo "exit $?"
cp "$d/kb.csv" copy_1.2.csv
"$UPDRAFT" import --json "$d/kb.csv" copy_1.2.csv 2>&1 >/dev/null | grep same
mkdir engine_8.8.8; cp "$d/elements_ms.csv" engine_8.8.8/
"$UPDRAFT" import engine_8.8.8/elements_ms.csv 2>&1 >/dev/null | head -n 1
