# Throughput against draft length. $curve: drafts, tokens/s, low95, high95, measured acceptance (1) or
# beyond it (0), tokens per cycle. $measured: drafts,
# tokens/s, low95, high95. baseline, baseline_low, baseline_high; best_k and best_text.
set xrange [k_min - 0.5 : k_max + 0.5]
set yrange [0 : y_max]
set xtics 1
set xlabel in_terminal ? 'draft length [drafts per cycle], 0: no speculation' : \
    'draft length [drafts per cycle], 0: no speculation; below it: mean tokens per cycle' offset 0, (in_terminal ? 0 : -0.8)
set ylabel 'throughput [tokens/s]'
set title head(title, subtitle) noenhanced
baseline_name = sprintf('without speculation: %.4g tokens/s', baseline)
if (!in_terminal) {
    set bmargin 5
    set key bottom left opaque reverse Left samplen 2 spacing 1.15
    set arrow from best_k, best_y to best_k, graph 0 nohead dashtype '-' linewidth 1 linecolor rgb grey back
    set label best_text at best_k, best_high center offset 0, 1.0 textcolor rgb ink noenhanced
    set label today_text at today_k, today_low center offset 0, -1.0 textcolor rgb grey noenhanced font small_font
    plot $curve using 1:3:4 with filledcurves linecolor rgb blue fillstyle transparent solid 0.15 noborder title band_name, \
         baseline_low + 0 * x with filledcurves y1=baseline_high linecolor rgb grey fillstyle transparent solid 0.15 noborder notitle, \
         baseline + 0 * x with lines linewidth 2 dashtype (2, 4) linecolor rgb grey title baseline_name, \
         $curve using 1:($5 == 1 ? $2 : NaN) with lines linewidth 2 linecolor rgb blue title 'with speculation', \
         $curve using 1:($5 == 0 ? $2 : NaN) with lines linewidth 2 dashtype (6, 5) linecolor rgb blue title (has_extrapolated ? 'dashed: deeper than any acceptance measured' : ''), \
         $curve using 1:2:xtic(sprintf("%d\n%.2f", $1, $6)) with points pointtype 7 pointsize 1 linecolor rgb blue notitle, \
         $curve using ($1 == best_k ? $1 : NaN):2 with points pointtype 7 pointsize 1.8 linecolor rgb vermillion title 'best length', \
         $measured using 1:2:3:4 with yerrorbars pointtype 13 pointsize 1.6 linewidth 1.5 linecolor rgb black title (has_measured ? measured_name : '')
} else {
    set key outside below Left reverse
    set yrange [y_floor : y_max]
    plot baseline + 0 * x with lines linetype 0 title baseline_name, \
         $curve using 1:2:3:4 with yerrorbars linetype 0 pointtype 15 title 'with speculation, 95 % interval', \
         $curve using ($1 == best_k ? $1 : NaN):2 with points pointtype 2 title best_text noenhanced, \
         $measured using 1:2 with points pointtype 13 title (has_measured ? measured_name : '')
}
