"""Keeps the README's figures those of the program.

readme.py UPDRAFT README           compares the tables between the marks with what the program says:
                                   words must be equal, numbers may differ by rounding
readme.py UPDRAFT README --write   writes them (make readme)
"""
import json
import re
import subprocess
import sys

SCENARIO = "traces/scenarios/origin.json"
ALWAYS = ["custom_oneshot", "nccl_fewer_channels", "flashinfer_fusion"]


def ask(updraft, *args):
    out = subprocess.run([updraft, *args], check=True, capture_output=True, text=True).stdout
    return json.loads(out)


def percent(x, signed=True):
    return f"{100 * x:+.1f} %" if signed else f"{100 * x:.1f} %"


def first_clause(reason):
    return reason.split("; ")[0].replace("|", "/")


def rank_table(updraft):
    ranking = ask(updraft, "rank", SCENARIO, "--json")["optimizations"]
    rows = [o for o in ranking if o["status"] == "ok"][:5]
    rows += [o for o in ranking if o["id"] in ALWAYS and o not in rows]
    lines = ["| # | optimization | gain | 95 % | days | per day | why |", "| --: | --- | --: | --- | --: | --: | --- |"]
    for o in rows:
        if o["gain"] is None:
            cells = ["blocked", "", f"{o['effort_days']:.2g}", ""]
        else:
            low, high = o["gain_ci95"]
            cells = [percent(o["gain"]), f"{percent(low)} to {percent(high)}", f"{o['effort_days']:.2g}",
                     f"{100 * o['gain_per_day']:+.2f} %"]
        lines.append(f"| {o['rank']} | {o['title']} | " + " | ".join(cells) + f" | {first_clause(o['reason'])} |")
    return lines


def backtest_table(updraft):
    tables = ask(updraft, "backtest", "traces/reference", "--json")["tables"]
    lines = ["| measured tables | cases | median error | 90 % of errors below | naive formula's median | 95 % intervals hold |",
             "| --- | --: | --: | --: | --: | --: |"]
    for t in tables:
        if t["cases"] < 20:
            continue
        naive = t.get("naive", {})
        naive_text = f"{percent(naive['median_rel_error'], False)} ({naive['formula']})" if "median_rel_error" in naive else ""
        hold = t.get("interval_coverage")
        lines.append(f"| {t['table']}: {t['target'].split(';')[0]} | {t['cases']} | {percent(t['median_rel_error'], False)} | "
                     f"{percent(t['p90_rel_error'], False)} | {naive_text} | {percent(hold, False) if hold is not None else ''} |")
    return lines


BLOCKS = {"rank": rank_table, "backtest": backtest_table}
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")


def same(a, b):
    """Equal but for numbers that differ by at most 3 % or 0.2."""
    if NUMBER.sub("#", a) != NUMBER.sub("#", b):
        return False
    for x, y in zip(NUMBER.findall(a), NUMBER.findall(b)):
        x, y = float(x), float(y)
        if abs(x - y) > max(0.03 * max(abs(x), abs(y)), 0.2):
            return False
    return True


def main():
    updraft, path, write = sys.argv[1], sys.argv[2], "--write" in sys.argv
    text, bad = open(path, encoding="utf-8").read(), 0
    for name, make in BLOCKS.items():
        begin, end = f"<!-- begin {name}: make readme writes this -->\n", f"<!-- end {name} -->"
        start, stop = text.index(begin) + len(begin), text.index(end)
        old, new = text[start:stop].strip().split("\n"), make(updraft)
        if write:
            text = text[:start] + "\n".join(new) + "\n" + text[stop:]
            continue
        for i, line in enumerate(new):
            if i >= len(old) or not same(old[i], line):
                print(f"{path}, {name}: has  {old[i] if i < len(old) else ''}\n{path}, {name}: now  {line}")
                bad = 1
        if len(old) > len(new):
            print(f"{path}, {name}: {len(old) - len(new)} lines too many")
            bad = 1
    if write:
        open(path, "w", encoding="utf-8").write(text)
    return bad


sys.exit(main())
