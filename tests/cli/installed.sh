# An installed program finds what ships with it, wherever the tree of bin/ and share/ was put.
mkdir -p usr/bin usr/share/updraft/traces usr/share/updraft/plots elsewhere
cp "$UPDRAFT" usr/bin/
cp -r "$TOP"/traces/catalogue.json "$TOP"/traces/scenarios "$TOP"/traces/recorded usr/share/updraft/traces/
sed -i 's/"title": *"Custom two-shot/"title": "Installed two-shot/' usr/share/updraft/traces/catalogue.json
cd elsewhere || exit
../usr/bin/updraft rank ../usr/share/updraft/traces/scenarios/origin.json --draws 200 --json | grep -o -m 1 "title.*Installed two-shot"
