# Throughput against the number of allreduces. $curve: count, tokens/s, low95, high95.
# baseline, baseline_low, baseline_high; today_count, today_y, today_text; free_text.
set xrange [0 : count_max]
set yrange [0 : y_max]
set xlabel 'allreduces per verify pass'
set ylabel 'throughput [tokens/s]'
set title head(title, subtitle) noenhanced
baseline_name = sprintf('without speculation, today: %.4g tokens/s', baseline)
if (!in_terminal) {
    set key bottom left opaque reverse Left samplen 2 spacing 1.15
    set arrow from today_count, graph 0 to today_count, today_y nohead dashtype '-' linewidth 1 linecolor rgb grey back
    set label today_text at today_count, today_high left offset -2, 1.0 textcolor rgb ink noenhanced
    plot $curve using 1:3:4 with filledcurves linecolor rgb blue fillstyle transparent solid 0.15 noborder title band_name, \
         baseline_low + 0 * x with filledcurves y1=baseline_high linecolor rgb grey fillstyle transparent solid 0.15 noborder notitle, \
         baseline + 0 * x with lines linewidth 2 dashtype (2, 4) linecolor rgb grey title baseline_name, \
         $curve using 1:2 with lines linewidth 2 linecolor rgb blue title 'with speculation', \
         $today using 1:2 with points pointtype 7 pointsize 1.8 linecolor rgb vermillion title 'today', \
         $free using 1:2 with points pointtype 6 pointsize 1.8 linewidth 2 linecolor rgb green title free_text noenhanced
} else {
    set key outside below Left reverse
    set yrange [y_floor : y_max]
    plot baseline + 0 * x with lines linetype 0 title baseline_name, \
         $curve using 1:3 with lines linetype 0 notitle, \
         $curve using 1:4 with lines linetype 0 title 'dots: 95 % interval', \
         $curve using 1:2 with points pointtype 24 title 'with speculation', \
         $today using 1:2 with points pointtype 15 title today_text noenhanced, \
         $free using 1:2 with points pointtype 6 title free_text noenhanced
}
