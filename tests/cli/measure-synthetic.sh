# A seeded campaign: the trace, the comparison, --json, and that a finished one has nothing left.
round() { sed '/^	"elapsed_s"/d; s/"elapsed_s":[^,]*,//' | sed 's/\([0-9]\.[0-9]\{4\}\)[0-9]*/\1/g'; } # the last digits are the compiler's
run() { "$UPDRAFT" measure --backend synthetic --seed 1 --option seed=7 --option alpha_us=5 --option beta_us_per_byte=0.001 "$@"; }
run --ranks 2 --sizes 8,43008 --iterations 10 -o t.jsonl; echo "exit $?"
sed 's/"kernel":"[^"]*",*//; s/"cpu":"[^"]*",*//; s/"host":{.*/HOST/; s/"p[19][09]*":[^,]*,//g; s/"min".*"max":[^,]*,//' t.jsonl | round
run --ranks 2 --sizes 8,43008 --iterations 10 -o t.jsonl; echo "exit $?"
run --ranks 2 --sizes 8,43008 --iterations 10 --resume -o t.jsonl >/dev/null; echo "exit $?"
run --ranks 2 --sizes 8,43008,1M --iterations 10 --resume -o t.jsonl --json --impl '*/twin' --method skewed >j
head -n 10 j | round
grep -c '"best":.true' j; grep -c '"difference_us"' j; python3 -m json.tool j >/dev/null; echo "exit $?"
run --ranks 4 --sizes 8 --iterations 3 --method graph --label box 2>/dev/null | grep -c '"label":"box".*"ranks":4'
