# Predicted against measured. $pairs, an index a table: measured, predicted, low95, high95, what the
# naive formula says.
set logscale xy 10
set xrange [low:high]
set yrange [low:high]
set xlabel 'measured [µs or tokens/s, as the table has it]'
set ylabel 'predicted, in the same unit'
set title head(title, subtitle) noenhanced
set samples 200
if (!in_terminal) {
    set key top left reverse Left samplen 1.5 spacing 1.15 opaque
    plot '+' using (low * (high / low) ** (($0) / 199.0)):(low * (high / low) ** (($0) / 199.0) / 1.2):(low * (high / low) ** (($0) / 199.0) * 1.2) with filledcurves linecolor rgb grey fillstyle transparent solid 0.18 noborder title 'within 20 %', \
         x with lines linewidth 1 linecolor rgb ink title 'equal', \
         for [s = 1:n_series] $pairs index s-1 using 1:5 with points pointtype 1 pointsize 0.5 linewidth 0.7 linecolor rgb grey notitle, \
         for [s = 1:(n_naive > 0)] NaN with points pointtype 1 linecolor rgb grey title 'naive formula', \
         for [s = 1:n_series] $pairs index s-1 using 1:2:3:4 with yerrorbars pointtype -1 linewidth 0.6 linecolor rgb series_color[s] notitle, \
         for [s = 1:n_series] $pairs index s-1 using 1:2 with points pointtype series_shape[s] pointsize 0.6 linecolor rgb series_color[s] notitle, \
         for [s = 1:n_series] NaN with points pointtype series_shape[s] linecolor rgb series_color[s] title series_name[s] noenhanced
} else {
    set key outside below Left reverse
    plot x with lines linetype 0 title 'equal', \
         for [s = 1:n_series] $pairs index s-1 using 1:2 with points pointtype s title series_name[s] noenhanced
}
