# Latency against message size. $points: bytes, us, low, high, outlier; $curve: bytes, us, low95,
# high95, measured. One index per series in both; $marks: bytes, label. series_name[n_series].
set logscale xy 2
set logscale y 10
set xrange [x_min:x_max]
set yrange [y_min:y_max]
# A list of our own: anything else would bring the automatic ticks back.
set xtics ('' x_min / 16) nomirror
set ytics ('' y_min / 16) nomirror
do for [e = 0:40:x_step] { if (2**e >= x_min && 2**e <= x_max) { set xtics add (size_label(2**e) 2**e) } }
do for [d = -1:7] { set ytics add (sprintf('%g', 10.0**d) 10.0**d); \
    set ytics add (sprintf('%g', 2 * 10.0**d) 2 * 10.0**d); set ytics add (sprintf('%g', 5 * 10.0**d) 5 * 10.0**d) }
set xlabel 'message size per rank'
set ylabel 'latency [µs]'
set title head(title, subtitle) noenhanced offset 0, (n_marks > 0 ? 0.8 : 0)
if (!in_terminal) {
    set key top left reverse Left samplen 2 spacing 1.15
    do for [m = 1:n_marks] {
        set arrow from mark_bytes[m], graph 0 to mark_bytes[m], graph 1 nohead dashtype '-' linewidth 1 linecolor rgb grey back
        # Above the frame; of two marks the left one's text ends at its line, so they never overlap.
        if (m == 1 && n_marks > 1) { set label mark_text[m] at mark_bytes[m], graph 1.025 right offset 0.5, 0 textcolor rgb grey font small_font noenhanced } \
        else { set label mark_text[m] at mark_bytes[m], graph 1.025 left offset -0.5, 0 textcolor rgb grey font small_font noenhanced }
    }
    plot for [s = 1:n_series] $curve index s-1 using 1:3:4 with filledcurves linecolor rgb series_color[s] fillstyle transparent solid 0.15 noborder notitle, \
         for [s = 1:n_series] $curve index s-1 using 1:($5 == 1 ? $2 : NaN) with lines linewidth 2 linecolor rgb series_color[s] notitle, \
         for [s = 1:n_series] $curve index s-1 using 1:($5 == 0 ? $2 : NaN) with lines linewidth 2 dashtype (6, 5) linecolor rgb series_color[s] notitle, \
         for [s = 1:n_series] $points index s-1 using 1:2:3:4 with yerrorbars pointtype -1 linewidth 1 linecolor rgb series_color[s] notitle, \
         for [s = 1:n_series] $points index s-1 using 1:($5 == 0 ? $2 : NaN) with points pointtype series_shape[s] pointsize 0.8 linecolor rgb series_color[s] notitle, \
         for [s = 1:n_series] $points index s-1 using 1:($5 == 1 ? $2 : NaN) with points pointtype 6 pointsize 1.4 linewidth 1.5 linecolor rgb series_color[s] notitle, \
         for [s = 1:n_series] NaN with linespoints pointtype series_shape[s] linewidth 2 linecolor rgb series_color[s] title series_name[s] noenhanced, \
         NaN with filledcurves linecolor rgb grey fillstyle transparent solid 0.25 title band_name, \
         NaN with lines dashtype (6, 5) linecolor rgb grey title (has_extrapolated ? 'dashed: beyond the measured sizes' : ''), \
         NaN with points pointtype 6 pointsize 1.4 linecolor rgb grey title (has_outliers ? 'circled: taken for an outlier' : '')
} else {
    set key outside below Left reverse
    plot for [s = 1:n_series] $curve index s-1 using 1:2 with lines linetype 0 linecolor rgb series_color[s] notitle, \
         for [s = 1:n_series] $points index s-1 using 1:2 with points pointtype s linecolor rgb series_color[s] title series_name[s] noenhanced
}
