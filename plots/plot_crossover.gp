# The fastest allreduce by size. $points and $curve as in plot_latency.gp; $best: from, to, series;
# $crossings: bytes, low95, high95, text, row.
set logscale xy 2
set logscale y 10
set xrange [x_min:x_max]
set yrange [y_min:y_max]
strip_low = y_min; strip_high = y_min * 1.28
# A list of our own: anything else would bring the automatic ticks back.
set xtics ('' x_min / 16) nomirror
set ytics ('' y_min / 16) nomirror
do for [e = 0:40:x_step] { if (2**e >= x_min && 2**e <= x_max) { set xtics add (size_label(2**e) 2**e) } }
do for [d = -1:7] { do for [m in '1 2 5'] { if (m * 10.0**d > strip_high * 1.4) { set ytics add (sprintf('%g', m * 10.0**d) m * 10.0**d) } } }
set xlabel 'message size per rank'
set ylabel 'latency [µs]'
set title head(title, subtitle) noenhanced offset 0, (in_terminal ? 0 : 2)
# What is beyond the measured sizes is dashed, and so is all that was synthesized.
solid(us, measured) = measured == 1 && is_measured ? us : NaN
dashed(us, measured) = measured == 1 && is_measured ? NaN : us
if (!in_terminal) {
    set tmargin 7
    set key top left opaque reverse Left samplen 2 spacing 1.15
    set label 'fastest:' at graph 0, first sqrt(strip_low * strip_high) right offset -0.6, 0 textcolor rgb ink font small_font
    plot for [s = 1:n_series] $curve index s-1 using 1:(is_measured ? $3 : NaN):4 with filledcurves linecolor rgb series_color[s] fillstyle transparent solid 0.10 noborder notitle, \
         for [s = 1:n_series] $curve index s-1 using 1:(solid($2, $5)) with lines linewidth 2 linecolor rgb series_color[s] notitle, \
         for [s = 1:n_series] $curve index s-1 using 1:(dashed($2, $5)) with lines linewidth 2 dashtype (6, 3) linecolor rgb series_color[s] notitle, \
         for [s = 1:n_series] $points index s-1 using 1:2 with points pointtype series_shape[s] pointsize 0.8 linecolor rgb series_color[s] notitle, \
         for [s = 1:n_series] NaN with linespoints pointtype (is_measured ? series_shape[s] : 0) linewidth 2 linecolor rgb series_color[s] title series_name[s] noenhanced, \
         for [s = 1:n_series] $best using ($3 == s ? sqrt($1 * $2) : NaN):(sqrt(strip_low * strip_high)):1:2:(strip_low):(strip_high) with boxxyerror linecolor rgb series_color[s] notitle, \
         $crossings using 1:(y_min):(0):(y_max - y_min) with vectors nohead linewidth 1 dashtype '-' linecolor rgb ink notitle, \
         $crossings using 1:(strip_high * 1.2 * 1.25 ** $5):2:3 with xerrorbars pointtype -1 linewidth 1.5 linecolor rgb ink title (n_crossings > 0 ? 'where it changes, 95 %' : ''), \
         for [r = 0:1] $crossings using ($5 == r ? $1 : NaN):(y_max):4 with labels center offset 0, 0.7 + r textcolor rgb ink font small_font noenhanced notitle
} else {
    set key outside below Left reverse
    plot $crossings using 1:(y_min):(0):(y_max - y_min) with vectors nohead linetype 0 title (n_crossings > 0 ? 'crossover' : ''), \
         for [s = 1:n_series] $curve index s-1 using 1:2 with points pointtype s title series_name[s] noenhanced, \
         for [r = 0:1] $crossings using ($5 == r ? $1 : NaN):(y_max):4 with labels center offset 0, 1 - r notitle noenhanced
}
