set encoding utf8
set terminal pngcairo noenhanced size 1080,520 background rgb 'white'
set title 'Throughput over batch size' noenhanced
set xlabel 'batch size' noenhanced
set ylabel 'samples/s' noenhanced
set grid lc rgb '#d5d5d5' lt 1
set key top right
$s0 << EOD
 127 974.130211 957.414216 986.426768 0
 128 995.024876 980.392157 1005.02513 1
 129 957.430836 941.001401 969.516595 0
EOD
plot $s0 using 1:2:3:4 with yerrorbars lw 1.5 dt 1 pt 0 lc rgb '#0072B2' notitle, \
$s0 using 1:($5 > 0 ? $2 : NaN) with points pt 13 ps 1.6 lc rgb '#0072B2' notitle, \
$s0 using 1:($5 > 0 ? NaN : $2) with points pt 7 ps 1 lc rgb '#0072B2' notitle
