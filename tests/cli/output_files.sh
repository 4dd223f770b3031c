# -o: whole or untouched, whatever stands in the way.
S=$TOP/traces/scenarios/origin.json
predict() { "$UPDRAFT" predict "$TOP/traces/recorded/rtx_pro_6000_8gpu_switches.jsonl" --impl nccl/ring/ll --bytes 43008 "$@"; }
echo kept >limited
(ulimit -f 0 && predict -o limited) 2>/dev/null
echo "a limit of file sizes: $?, $(cat limited), $(ls | tr '\n' ' ')"
mkdir folder && predict -o folder
echo "a folder: $?"
echo old >aim && chmod 600 aim && ln -s aim link && predict -o link && test -L link && grep -c us aim && stat -c %a aim
mkfifo pipe
cat pipe >got &
predict -o pipe && wait && test -p pipe && grep -c us got
"$UPDRAFT" scenario "$S" -o folder/moved.json && "$UPDRAFT" simulate folder/moved.json >moved && "$UPDRAFT" simulate "$S" | cmp - moved && echo "a scenario made in another folder finds its costs"
"$UPDRAFT" scenario "$S" --costs - </dev/null
echo "no file: $?"
printf 'not ours' >notes && "$UPDRAFT" ledger add --id a "$S" --ledger notes
echo "no ledger: $?, $(cat notes)"
ls
